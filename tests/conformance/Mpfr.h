//===- Mpfr.h - numbers of 320 bits ---------------------------------------===//
//
// The independent oracle: real arithmetic to far more digits than any bound needs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mpfr.h>
#include <utility>

namespace writ::test {

class Real {
public:
  Real(double value = 0) {
    mpfr_init2(x, 320);
    mpfr_set_d(x, value, MPFR_RNDN);
  }
  Real(const Real &other) : Real() { mpfr_set(x, other.x, MPFR_RNDN); }
  Real &operator=(const Real &other) {
    mpfr_set(x, other.x, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(x); }

  double toDouble() const { return mpfr_get_d(x, MPFR_RNDN); }

  friend Real operator+(const Real &a, const Real &b) { return apply(mpfr_add, a, b); }
  friend Real operator-(const Real &a, const Real &b) { return apply(mpfr_sub, a, b); }
  friend Real operator*(const Real &a, const Real &b) { return apply(mpfr_mul, a, b); }
  friend Real operator/(const Real &a, const Real &b) { return apply(mpfr_div, a, b); }
  Real &operator+=(const Real &other) {
    mpfr_add(x, x, other.x, MPFR_RNDN);
    return *this;
  }
  /// this + a * b
  Real &addProduct(const Real &a, double b) {
    static thread_local Real product;
    mpfr_mul_d(product.x, a.x, b, MPFR_RNDN);
    return *this += product;
  }
  Real operator-() const { return Real(0.0) - *this; }
  friend bool operator<(const Real &a, const Real &b) { return mpfr_less_p(a.x, b.x); }

  friend Real sqrt(const Real &a) { return apply(mpfr_sqrt, a); }
  friend Real exp(const Real &a) { return apply(mpfr_exp, a); }
  friend Real log(const Real &a) { return apply(mpfr_log, a); }
  friend Real sin(const Real &a) { return apply(mpfr_sin, a); }
  friend Real cos(const Real &a) { return apply(mpfr_cos, a); }
  friend Real log1p(const Real &a) { return apply(mpfr_log1p, a); }
  friend Real erfc(const Real &a) { return apply(mpfr_erfc, a); }
  friend Real tanh(const Real &a) { return apply(mpfr_tanh, a); }
  friend Real atan(const Real &a) { return apply(mpfr_atan, a); }
  friend Real erf(const Real &a) { return apply(mpfr_erf, a); }
  friend Real abs(const Real &a) { return a < Real(0.0) ? -a : a; }

private:
  template <typename Function, typename... Args>
  static Real apply(Function function, const Args &...args) {
    Real result;
    function(result.x, args.x..., MPFR_RNDN);
    return result;
  }
  mpfr_t x;
};

/// |computed - exact| in units in the last place of binary32 at the exact value.
inline double errorInUlp(double computed, const Real &exact) {
  int exponent = 0;
  std::frexp(exact.toDouble(), &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs((Real(computed) - exact).toDouble()) / ulp;
}

/// 2 sqrt(2 / pi) (x + 0.044715 x^3): GELU by tanh is x / (1 + exp(-this)).
inline Real geluArgument(const Real &x) {
  const Real cubic = Real(44715.0) / Real(1000000.0); // the decimal, not its nearest double
  return Real(2.0) * sqrt(Real(2.0) / (Real(4.0) * atan(Real(1.0)))) * (x + cubic * x * x * x);
}

} // namespace writ::test
