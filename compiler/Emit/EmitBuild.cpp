#include "compiler/Emit/EmitCpp.h"

#include "writ/package_format.h"

namespace writ {

std::string emitBuild(const CallModel &) {
  return R"(# Builds libmodel.a and libmodel.so. WRIT_ROOT holds include/writ/ and lib/libwrit_runtime.so.
#   cmake -S . -B build -DWRIT_ROOT=/path/of/writ && cmake --build build
cmake_minimum_required(VERSION 3.25)
project(model LANGUAGES CXX)

set(WRIT_ROOT "" CACHE PATH "where Writ's include/ and lib/ are")
if(NOT EXISTS "${WRIT_ROOT}/include/writ/model_abi.h")
  message(FATAL_ERROR "WRIT_ROOT is '${WRIT_ROOT}'; it must hold include/writ/model_abi.h")
endif()
find_library(WRIT_RUNTIME writ_runtime PATHS "${WRIT_ROOT}/lib" NO_DEFAULT_PATH REQUIRED)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(model_objects OBJECT src/calls.cpp src/model.cpp)
set_target_properties(model_objects PROPERTIES
  CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
target_include_directories(model_objects PRIVATE "${WRIT_ROOT}/include")
target_compile_options(model_objects PRIVATE -Wall -Wextra -Werror -ffp-contract=off)

add_library(model_static STATIC $<TARGET_OBJECTS:model_objects>)
add_library(model_shared SHARED $<TARGET_OBJECTS:model_objects>)
set_target_properties(model_static model_shared PROPERTIES OUTPUT_NAME model)
target_link_libraries(model_shared PRIVATE "${WRIT_RUNTIME}")
# The runtime loads the library only if this digest is its own: a part of a file is not run.
set(name $<TARGET_FILE_NAME:model_shared>)
add_custom_command(TARGET model_shared POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E chdir $<TARGET_FILE_DIR:model_shared>
          ${CMAKE_COMMAND} -E sha256sum ${name} > $<TARGET_FILE:model_shared>)" +
         std::string(kDigestSuffix) + R"(
  VERBATIM)
)";
}

} // namespace writ
