//===- RopeFrequencies.cpp - the frequencies of rotary positions ----------===//
//
// Each is the binary64 that is nearest to a real number, which the word of `scaling` gives by a
// formula. MPFR has that number to 256 bits; none lies so near to a midpoint of two binary64 that
// the second rounding could move it, unless it is exact.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Fields.h"
#include "ir/Reference/Operands.h"

#include <mpfr.h>
#include <optional>

namespace writ::reference {
namespace {

class Number {
public:
  Number(double value = 0) {
    mpfr_init2(x, 256);
    mpfr_set_d(x, value, MPFR_RNDN);
  }
  Number(const Number &other) : Number() { mpfr_set(x, other.x, MPFR_RNDN); }
  Number &operator=(const Number &other) {
    mpfr_set(x, other.x, MPFR_RNDN);
    return *this;
  }
  ~Number() { mpfr_clear(x); }

  double nearestDouble() const { return mpfr_get_d(x, MPFR_RNDN); }
  friend Number operator+(const Number &a, const Number &b) { return apply(mpfr_add, a, b); }
  friend Number operator-(const Number &a, const Number &b) { return apply(mpfr_sub, a, b); }
  friend Number operator*(const Number &a, const Number &b) { return apply(mpfr_mul, a, b); }
  friend Number operator/(const Number &a, const Number &b) { return apply(mpfr_div, a, b); }
  friend bool operator<(const Number &a, const Number &b) { return mpfr_less_p(a.x, b.x); }
  friend Number power(const Number &a, const Number &b) { return apply(mpfr_pow, a, b); }
  friend Number logarithm(const Number &a) { return apply(mpfr_log, a); }
  friend Number floorOf(const Number &a) {
    Number result;
    mpfr_floor(result.x, a.x);
    return result;
  }
  friend Number ceilingOf(const Number &a) {
    Number result;
    mpfr_ceil(result.x, a.x);
    return result;
  }
  static Number pi() {
    Number result;
    mpfr_const_pi(result.x, MPFR_RNDN);
    return result;
  }

private:
  template <typename Function, typename... Args>
  static Number apply(Function function, const Args &...args) {
    Number result;
    function(result.x, args.x..., MPFR_RNDN);
    return result;
  }
  mpfr_t x;
};

Number larger(const Number &a, const Number &b) {
  return a < b ? b : a;
}
Number smaller(const Number &a, const Number &b) {
  return b < a ? b : a;
}

enum class Scaling { none, linear, ntk, yarn, llama3 };

struct Frequencies {
  const Call &call;
  Scaling scaling;
  double dims;
  Number base, factor, original, fast, slow; ///< those that the scaling reads

  Frequencies(const Call &call, Scaling scaling)
      : call(call), scaling(scaling), dims(static_cast<double>(dimension(call, "rope_dims"))),
        base(number(call, "base")) {
    if (scaling != Scaling::none)
      factor = number(call, "factor");
    if (scaling == Scaling::yarn || scaling == Scaling::llama3) {
      original = number(call, "original_context");
      fast = number(call, "beta_fast");
      slow = number(call, "beta_slow");
    }
  }

  /// By what the frequency `theta` of pair i is multiplied.
  Number multiplier(int64_t i, const Number &theta) const {
    const Number pair = static_cast<double>(i), one = 1;
    switch (scaling) {
    case Scaling::none:
      return one;
    case Scaling::linear:
      return one / factor;
    case Scaling::ntk:
      return power(factor, Number(-2) * pair / Number(dims - 2));
    case Scaling::yarn: {
      const Number low = larger(0, floorOf(pairOfRotations(fast)));
      const Number high = smaller(dims - 1, ceilingOf(pairOfRotations(slow)));
      const Number width = larger(Number(1) / Number(1000), high - low);
      const Number ramp = smaller(1, larger(0, (pair - low) / width));
      return one - ramp * (one - one / factor);
    }
    case Scaling::llama3: {
      const Number rotations = original * theta / (Number(2) * Number::pi());
      if (fast < rotations)
        return one;
      if (rotations < slow)
        return one / factor;
      const Number smooth = (rotations - slow) / (fast - slow);
      return (one - smooth) / factor + smooth;
    }
    }
    return one;
  }

  /// The (fractional) pair that turns `rotations` times in the original context.
  Number pairOfRotations(const Number &rotations) const {
    return Number(dims) * logarithm(original / (Number(2) * Number::pi() * rotations)) /
           (Number(2) * logarithm(base));
  }
};

} // namespace

void evaluateRopeFrequencies(Call &call) {
  Fields fields(call, "rope_frequencies");
  fields.attribute("scaling");
  const auto scaling =
      static_cast<Scaling>(fields.choose("scaling", {"none", "linear", "ntk", "yarn", "llama3"}));
  fields.require("factors", "exact_divisor");
  fields.require("output_rounding", "nearest_even");
  fields.requireIeee();
  fields.requireScalars({"factors"});
  fields.requireStorage("out", "f64");
  if (!fields.checkAllRead())
    return;

  const Frequencies frequencies(call, scaling);
  const int64_t pairs = dimension(call, "rope_dims") / 2;
  std::optional<Matrix> factors;
  if (optionalOperand(call, "factors"))
    factors = matrix(call, "factors", 1, pairs);
  const Matrix out = matrix(call, "out", 1, pairs);
  for (int64_t i = 0; i < pairs; ++i) {
    const Number exponent = Number(static_cast<double>(-2 * i)) / Number(frequencies.dims);
    const Number theta = power(frequencies.base, exponent);
    const Number divided = factors ? theta / Number(factors->get(0, i)) : theta;
    writeF64(out.row(0), i, (divided * frequencies.multiplier(i, theta)).nearestDouble());
  }
}

} // namespace writ::reference
