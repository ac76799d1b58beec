//===- Sample.cpp - a binary64 function over arguments that are chosen ----===//
#include "tests/functions/Sample.h"

#include "ir/Reference/Function.h"
#include "runtime/kernels/cpu/math.h"
#include "tests/functions/ExactFunction.h"
#include "tests/functions/StepArrays.h"

#include <bit>
#include <cmath>

namespace writ::test {
namespace {

constexpr uint64_t kOfEachKind = 1 << 18;
constexpr double kLimit = 0x1p+30;

/// Patterns from 2^-40 to the limit, at equal distance.
double spread(uint64_t index) {
  constexpr uint64_t first = std::bit_cast<uint64_t>(0x1p-40);
  constexpr uint64_t distance = (std::bit_cast<uint64_t>(kLimit) - first) / kOfEachKind | 1;
  return std::bit_cast<double>(first + index * distance);
}

/// Next to a multiple of pi / 2.
double nearQuarterTurn(uint64_t index) {
  const auto turns = static_cast<double>(1 + index * 2603); // up to the limit
  return std::fma(turns, 0x1.921fb54442d18p+0, turns * 0x1.1a62633145c07p-54);
}

/// A position times a frequency, as RoPE multiplies them.
double rotaryAngle(uint64_t index) {
  static const std::vector<double> frequencies = [] {
    std::vector<double> all;
    for (const double base : {1e4, 1e5, 5e5, 1e6})
      for (const int dims : {64, 128, 256})
        for (int i = 0; i < dims / 2; i += 5)
          all.push_back(exp(log(Real(base)) * (Real(-2.0 * i) / Real(double(dims)))).toDouble());
    return all;
  }();
  const auto position = static_cast<double>(index * 131 % 131072);
  return position * frequencies[index % frequencies.size()];
}

/// Where 2 * 10^8 random angles, a search that is not kept, had the largest error of sine and
/// cosine.
constexpr double kWorstFound[] = {0x1.f01fce21f7b8cp+5, 0x1.cc3513ddc6p+7};

double argument(uint64_t index) {
  if (index < std::size(kWorstFound))
    return kWorstFound[index];
  constexpr double (*kinds[])(uint64_t) = {spread, nearQuarterTurn, rotaryAngle};
  return kinds[index % std::size(kinds)](index / std::size(kinds));
}

double ulpOfBinary64(double computed, const Real &exact) {
  const double nearest = exact.toDouble();
  const double last = std::ldexp(1.0, std::max(std::ilogb(nearest), -1022) - 52);
  return abs((Real(computed) - exact) / Real(last)).toDouble();
}

/// The form that the kernels have of a function, if this one is theirs.
bool kernelForm(const std::string &name, double x, std::vector<double> &results) {
  if (name != "sincos_f64_v0")
    return false;
  results.resize(2);
  sincosF64(x, &results[0], &results[1]);
  return true;
}

} // namespace

const char *const kSampledArguments =
    "3 * 2^18 chosen ones, in turn: patterns at equal distance from 2^-40 to 2^30, neighbours of "
    "the "
    "multiples of pi / 2 up to 2^30, and products of positions below 2^17 and rotary frequencies; "
    "first the two with the largest errors among 2 * 10^8 random ones";

bool isSampled(const nlohmann::json &function) {
  return function.at("signature").get<std::string>().starts_with("binary64");
}

SweepResult sample(const nlohmann::json &functions, const std::string &name, uint64_t stride) {
  const reference::Function steps(functions, name);
  const nlohmann::json &function = functionNamed(functions, name);
  std::vector<ExactFunction> exact;
  for (size_t i = 0; i < function.at("exact").size(); ++i)
    exact.emplace_back(function, i);
  SweepResult found;
  std::string bytes;
  for (uint64_t index = 0; index < 3 * kOfEachKind; index += stride) {
    const double x = argument(index);
    const std::vector<double> results = steps.evaluate(x);
    std::vector<double> kernels;
    if (kernelForm(name, x, kernels)) {
      found.forms = {"scalar"};
      if (kernels != results && found.fault.empty())
        found.fault = name + ": the kernels' form disagrees at " + std::to_string(x);
    }
    for (size_t i = 0; i < exact.size(); ++i) {
      const double error = ulpOfBinary64(results.at(i), exact[i].decide(x));
      ++found.decided;
      if (!(error <= found.maxUlp)) {
        found.maxUlp = std::isnan(error) ? INFINITY : error;
        found.worstAt = x;
      }
      bytes.append(reinterpret_cast<const char *>(&results[i]), sizeof(double));
    }
  }
  found.digest = sha256Hex(bytes);
  return found;
}

} // namespace writ::test
