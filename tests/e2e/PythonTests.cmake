# writ_python_tests(LABEL FILE... ENVIRONMENT list): every method of the unittest programs is one ctest
# test, LABEL.Class.method; exit code 77 means skipped; a method that ends in _long has the label long.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(writ_python_tests label)
  cmake_parse_arguments(arg "" "" "ENVIRONMENT" ${ARGN})
  foreach(file ${arg_UNPARSED_ARGUMENTS})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    execute_process(COMMAND ${CMAKE_COMMAND} -E env ${arg_ENVIRONMENT} ${Python3_EXECUTABLE} -B ${file} --list
                    OUTPUT_VARIABLE methods RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(failed)
      message(FATAL_ERROR "${file} cannot list its tests")
    endif()
    string(REPLACE "\n" ";" methods "${methods}")
    foreach(method ${methods})
      set(labels ${label})
      if(method MATCHES "_long$")
        set(labels long)
      endif()
      add_test(NAME ${label}.${method} COMMAND ${Python3_EXECUTABLE} -B ${file} ${method})
      set_tests_properties(${label}.${method} PROPERTIES LABELS ${labels} SKIP_RETURN_CODE 77
                           ENVIRONMENT "${arg_ENVIRONMENT}")
    endforeach()
  endforeach()
endfunction()
