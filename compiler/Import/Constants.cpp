//===- Constants.cpp - numbers that are fixed when compiling --------------===//
#include "compiler/Import/Constants.h"

#include <mpfr.h>

namespace writ {
namespace {

/// Wide enough that rounding to it first cannot change the binary64 that comes out: none of the
/// values lies within 2^-147 of a midpoint unless it is exact.
constexpr mpfr_prec_t kWorkingBits = 200;

} // namespace

std::vector<double> ropeFrequencies(double base, int64_t dimensions) {
  mpfr_t baseValue, exponent, power;
  mpfr_inits2(kWorkingBits, baseValue, exponent, power, mpfr_ptr(nullptr));
  mpfr_set_d(baseValue, base, MPFR_RNDN);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < dimensions / 2; ++i) {
    mpfr_set_si(exponent, -2 * i, MPFR_RNDN);
    mpfr_div_si(exponent, exponent, dimensions, MPFR_RNDN);
    mpfr_pow(power, baseValue, exponent, MPFR_RNDN);
    frequencies.push_back(mpfr_get_d(power, MPFR_RNDN));
  }
  mpfr_clears(baseValue, exponent, power, mpfr_ptr(nullptr));
  return frequencies;
}

float reciprocalSqrt(int64_t n) {
  mpfr_t value, root;
  mpfr_init2(value, 64);
  mpfr_init2(root, 24);
  mpfr_set_si(value, n, MPFR_RNDN);
  mpfr_rec_sqrt(root, value, MPFR_RNDN);
  float result = mpfr_get_flt(root, MPFR_RNDN);
  mpfr_clears(value, root, mpfr_ptr(nullptr));
  return result;
}

} // namespace writ
