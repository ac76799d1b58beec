//===- Production.h - the kernels' own forms of the functions -------------===//
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace writ::test {

/// out[i] is the function at x[i]; count is a multiple of 16.
using ArrayFunction = void (*)(const float *x, float *out, size_t count);

struct Production {
  const char *function; ///< of functions.json
  const char *form;     ///< "scalar", "avx2 lanes"
  ArrayFunction evaluate;
};

/// All forms of a function that this processor runs.
std::vector<Production> productionForms(const std::string &function);

} // namespace writ::test
