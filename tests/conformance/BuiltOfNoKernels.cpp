//===- BuiltOfNoKernels.cpp - a program that measures no kernel -----------===//
#include "tests/conformance/BuiltOf.h"

void writ::test::addProviders(std::map<std::string, std::string> &) {}
