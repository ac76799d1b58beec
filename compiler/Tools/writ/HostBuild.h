//===- HostBuild.h - building a package with the host compiler ------------===//
#pragma once

#include <string>
#include <vector>

namespace writ::tool {

/// Runs a program without a shell, its output in `log` (appended). Returns its exit status, or -1
/// with errno where it cannot be started. What it started ends with it where Ctrl-C comes.
int runProgram(const std::vector<std::string> &words, const std::string &log);

/// The version line of a host compiler, for the key of the cache. EnvironmentError where there is
/// none.
std::string hostCompilerVersion(const std::string &cxx);

/// Builds PACKAGE/CMakeLists.txt into PACKAGE/lib/libmodel.so, in a temporary folder that is
/// removed. On failure the compiler's own message is shown, what it said in full is kept in
/// PACKAGE/build.log, and EnvironmentError is thrown (E060), naming the package as `shown`.
void buildPackage(const std::string &package, const std::string &shown, const std::string &cxx);

} // namespace writ::tool
