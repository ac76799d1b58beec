//===- Constants.cpp - numbers that are fixed when compiling --------------===//
#include "compiler/Import/Constants.h"

#include <algorithm>
#include <mpfr.h>
#include <stdexcept>
#include <vector>

namespace writ {
namespace {

/// Wide enough that rounding to it first cannot change the binary64 that comes out: none of the
/// values lies within 2^-147 of a midpoint unless it is exact.
constexpr mpfr_prec_t kWorkingBits = 200;

class Wide {
public:
  Wide(double value = 0) {
    mpfr_init2(x, kWorkingBits);
    mpfr_set_d(x, value, MPFR_RNDN);
  }
  Wide(const Wide &other) : Wide() { mpfr_set(x, other.x, MPFR_RNDN); }
  Wide &operator=(const Wide &other) {
    mpfr_set(x, other.x, MPFR_RNDN);
    return *this;
  }
  ~Wide() { mpfr_clear(x); }

  double toDouble() const { return mpfr_get_d(x, MPFR_RNDN); }
  float toFloat() const { return mpfr_get_flt(x, MPFR_RNDN); }

  friend Wide operator+(const Wide &a, const Wide &b) { return apply(mpfr_add, a, b); }
  friend Wide operator-(const Wide &a, const Wide &b) { return apply(mpfr_sub, a, b); }
  friend Wide operator*(const Wide &a, const Wide &b) { return apply(mpfr_mul, a, b); }
  friend Wide operator/(const Wide &a, const Wide &b) { return apply(mpfr_div, a, b); }
  friend bool operator<(const Wide &a, const Wide &b) { return mpfr_less_p(a.x, b.x); }
  friend Wide pow(const Wide &a, const Wide &b) { return apply(mpfr_pow, a, b); }
  friend Wide log(const Wide &a) { return apply(mpfr_log, a); }
  friend Wide sqrt(const Wide &a) { return apply(mpfr_sqrt, a); }
  friend Wide floor(Wide a) {
    mpfr_floor(a.x, a.x);
    return a;
  }
  friend Wide ceil(Wide a) {
    mpfr_ceil(a.x, a.x);
    return a;
  }
  static Wide twoPi() {
    Wide result;
    mpfr_const_pi(result.x, MPFR_RNDN);
    mpfr_mul_2ui(result.x, result.x, 1, MPFR_RNDN);
    return result;
  }

private:
  template <typename Function, typename... Args>
  static Wide apply(Function function, const Args &...args) {
    Wide result;
    function(result.x, args.x..., MPFR_RNDN);
    return result;
  }
  mpfr_t x;
};

/// By what each frequency is multiplied; the formulas are those of the vocabulary's words.
std::vector<Wide> multipliers(const RopeScaling &scaling, const Wide &base,
                              const std::vector<Wide> &plain) {
  const auto pairs = static_cast<int64_t>(plain.size());
  const Wide one(1), factor(scaling.factor), dimensions(static_cast<double>(2 * pairs));
  std::vector<Wide> result(plain.size(), one);
  if (scaling.word == "none")
    return result;
  if (scaling.word == "linear")
    return std::vector<Wide>(plain.size(), one / factor);
  if (scaling.word == "ntk") {
    for (int64_t i = 0; i < pairs; ++i)
      result[i] = pow(factor, Wide(static_cast<double>(-2 * i)) / (dimensions - Wide(2)));
    return result;
  }
  if (scaling.word == "yarn") {
    const auto turning = [&](double rotations) {
      return dimensions * log(Wide(scaling.originalContext) / (Wide::twoPi() * Wide(rotations))) /
             (Wide(2) * log(base));
    };
    const Wide low = std::max(Wide(0), floor(turning(scaling.betaFast)));
    const Wide high = std::min(dimensions - one, ceil(turning(scaling.betaSlow)));
    const Wide width = std::max(Wide(1) / Wide(1000), high - low);
    for (int64_t i = 0; i < pairs; ++i) {
      const Wide ramp = std::clamp((Wide(static_cast<double>(i)) - low) / width, Wide(0), Wide(1));
      result[i] = one - ramp * (one - one / factor);
    }
    return result;
  }
  if (scaling.word == "llama3") {
    const Wide fast(scaling.betaFast), slow(scaling.betaSlow);
    for (int64_t i = 0; i < pairs; ++i) {
      const Wide rotations = Wide(scaling.originalContext) * plain[i] / Wide::twoPi();
      const Wide smooth = std::clamp((rotations - slow) / (fast - slow), Wide(0), Wide(1));
      result[i] = (one - smooth) / factor + smooth;
    }
    return result;
  }
  throw std::logic_error("no formula for the scaling '" + scaling.word + "'");
}

/// On q and on k: 1 + ln(factor) / 10 of yarn (section 3.4 of its paper), and the model's own.
Wide attentionFactor(const RopeScaling &scaling) {
  const Wide own(scaling.attentionFactor);
  if (scaling.word != "yarn" || !(scaling.factor > 1))
    return own;
  return own * (Wide(1) + log(Wide(scaling.factor)) / Wide(10));
}

} // namespace

bool computesRopeScaling(std::string_view word) {
  constexpr std::string_view known[] = {"none", "linear", "ntk", "yarn", "llama3"};
  return std::find(std::begin(known), std::end(known), word) != std::end(known);
}

std::vector<double> ropeFrequencies(double base, int64_t dimensions, const RopeScaling &scaling) {
  std::vector<Wide> plain;
  for (int64_t i = 0; i < dimensions / 2; ++i)
    plain.push_back(
        pow(Wide(base), Wide(static_cast<double>(-2 * i)) / Wide(static_cast<double>(dimensions))));
  const std::vector<Wide> by = multipliers(scaling, Wide(base), plain);
  std::vector<double> frequencies;
  for (size_t i = 0; i < plain.size(); ++i) {
    const Wide divisor = scaling.factors.empty() ? 1.0 : double(scaling.factors[i]);
    frequencies.push_back((plain[i] / divisor * by[i]).toDouble());
  }
  return frequencies;
}

float scoreScale(int64_t n, const RopeScaling &scaling) {
  const Wide factor = attentionFactor(scaling);
  return (factor * factor / sqrt(Wide(static_cast<double>(n)))).toFloat();
}

bool scalesScores(const RopeScaling &scaling) {
  return attentionFactor(scaling).toDouble() != 1;
}

} // namespace writ
