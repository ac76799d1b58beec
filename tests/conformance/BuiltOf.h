//===- BuiltOf.h - of what a program that measures was built --------------===//
#pragma once

#include <map>
#include <string>

namespace writ::test {

/// Digests of the sources in this program and of the data that it reads, keyed as records write
/// them (compiler/Resolve/Evidence.h).
std::map<std::string, std::string> builtOf();

/// Adds "source:ID" and "flags:ID" of the kernels that are linked: BuiltOfKernels.cpp, or
/// BuiltOfNoKernels.cpp where there are none.
void addProviders(std::map<std::string, std::string> &digests);

} // namespace writ::test
