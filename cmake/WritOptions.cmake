# Flags that every target of the project shares. Contraction is off everywhere: each fused
# multiply-add of a contract is written as one, and no other may appear.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(writ_options INTERFACE)
target_compile_options(writ_options INTERFACE
  -Wall -Wextra -Werror -ffp-contract=off -fno-fast-math)
if(WRIT_SANITIZE)
  add_compile_options(-fsanitize=${WRIT_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WRIT_SANITIZE})
  add_library(writ_sanitizer_options OBJECT ${CMAKE_CURRENT_LIST_DIR}/SanitizerOptions.cpp)
  link_libraries("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:writ_sanitizer_options>>")
endif()

# writ_add_library(NAME SOURCES... ) and writ_link(NAME PUBLIC|PRIVATE libs...) keep call sites short.
function(writ_add_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PRIVATE writ_options)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/runtime/include)
endfunction()

# Every test is one GoogleTest program; each TEST becomes a ctest test of the same name. Its label is
# the folder's name where none is given; the target tests-FOLDER builds a folder's tests alone.
function(writ_add_test name)
  cmake_parse_arguments(arg "" "LABEL" "SOURCES;LIBS" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  if(NOT arg_LABEL)
    set(arg_LABEL ${folder})
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE writ_options ${arg_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE WRIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             WRIT_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(NOT TARGET tests-${folder})
    add_custom_target(tests-${folder})
  endif()
  add_dependencies(tests-${folder} ${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABEL}")
endfunction()
