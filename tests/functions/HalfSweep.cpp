//===- HalfSweep.cpp - a function of an argument rounded to binary16 ------===//
#include "tests/functions/HalfSweep.h"

#include "tests/functions/ExactFunction.h"
#include "tests/functions/Record.h"
#include "tests/functions/StepArrays.h"

#include "ir/Reference/Scalar.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

namespace writ::test {
namespace {

using Node = reference::ExpressionNode;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr uint32_t kHalves = 1 << 16;
constexpr double kMargin = 0x1p-16; ///< binary64's estimate is off by far less

uint32_t bitsOf(float value) {
  return value != value ? 0x7fc00000 : std::bit_cast<uint32_t>(value);
}

float half(float x) {
  return reference::rounded(reference::Rounding::binary16, x);
}

std::string argumentOf(const nlohmann::json &function) {
  const std::string signature = function.at("signature"); // "binary32 x -> binary32 y"
  const size_t at = signature.find(' ') + 1;
  return signature.substr(at, signature.find(' ', at) - at);
}

/// Whether the tree reads the name in no other place than rn16(name).
bool readsRounded(const Node &node, const std::string &name) {
  if (node.kind == "rn16" && node.parts.size() == 1 && node.parts[0]->name == name)
    return true;
  if (node.kind == "name" && node.name == name)
    return false;
  for (const auto &part : node.parts)
    if (!readsRounded(*part, name))
      return false;
  return true;
}

double distance(float computed, double exact) {
  return static_cast<double>(computed) - exact;
}
double distance(float computed, const Real &exact) {
  return (Real(computed) - exact).toDouble();
}
/// |computed - exact| in units in the last place of binary16 at `about`, which is the exact value.
template <typename Number>
double errorInHalfUlp(float computed, const Number &exact, double about) {
  int exponent = 0;
  std::frexp(about, &exponent);
  return std::fabs(distance(computed, exact)) / std::ldexp(1.0, std::max(exponent - 11, -24));
}

/// All results of a function, block by block.
std::vector<float> resultsOf(const nlohmann::json &functions, const std::string &name,
                             const std::vector<float> &x) {
  StepArrays steps(functions, name);
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); i += StepArrays::kBlock)
    steps.evaluate(std::span(x).subspan(i, StepArrays::kBlock),
                   std::span(y).subspan(i, StepArrays::kBlock));
  return y;
}

/// functions.json with the function reduced to its steps.
nlohmann::json bare(const nlohmann::json &functions, const std::string &name) {
  nlohmann::json copy = functions;
  for (nlohmann::json &function : copy["functions"])
    if (function["name"] == name)
      function["special"] = nlohmann::json::array();
  return copy;
}

/// The binary32 furthest from zero, or nearest to it, that rounds to h; h itself where it is none.
float endOfInterval(float h, bool outer) {
  const auto rounds = [h](uint32_t bits) {
    return std::bit_cast<uint32_t>(half(std::bit_cast<float>(bits))) == std::bit_cast<uint32_t>(h);
  };
  if (h != h || std::isinf(h))
    return h;
  // Beside the sign, bits ascend with the magnitude; an interval is less than 2^31 of them wide.
  const auto inside = std::bit_cast<uint32_t>(h);
  uint32_t end = inside;
  for (uint32_t step = 1u << 30; step != 0; step /= 2) {
    const uint32_t next = outer ? end + step : end - step;
    const bool staysOfItsSign = (next >> 31) == (inside >> 31) && (outer ? next > end : next < end);
    if (staysOfItsSign && (next & 0x7fffffff) <= 0x7f800000 && rounds(next))
      end = next;
  }
  return std::bit_cast<float>(end);
}

class HalfSweep {
public:
  HalfSweep(const nlohmann::json &functions, const std::string &name,
            const HalfSweepOptions &options)
      : name(name), exact(functionNamed(functions, name)), options(options) {}

  void judge(float h, float y);
  void compareForms(const std::vector<Production> &production, const std::vector<float> &x,
                    const std::vector<float> &y);
  void fault(const std::string &what) {
    if (result.fault.empty())
      result.fault = name + what;
  }
  SweepResult result;

private:
  const std::string &name;
  ExactFunction exact;
  HalfSweepOptions options;
  uint64_t judged = 0;
};

std::string textOf(float value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%a", static_cast<double>(value));
  return text;
}

/// The result for an argument that is h once it is rounded.
void HalfSweep::judge(float h, float y) {
  if (h != h) {
    if (y == y)
      fault(" of a NaN is " + textOf(y));
    return;
  }
  if (std::isinf(h))
    return;
  const double estimate = exact.estimate(h);
  const double error =
      y == half(y) && std::isfinite(y) ? errorInHalfUlp(y, estimate, estimate) : kInfinite;
  const bool checks = judged++ % options.decideEvery == 0;
  if (!(error > result.maxUlp - kMargin) && !checks)
    return;
  ++result.decided;
  double decided = kInfinite;
  if (std::isfinite(error)) {
    const Real value = exact.decide(h);
    decided = errorInHalfUlp(y, value, value.toDouble());
    result.screeningError = std::max(result.screeningError, std::fabs(decided - error));
  }
  if (decided > result.maxUlp) {
    result.maxUlp = decided;
    result.worstAt = h;
  }
}

void HalfSweep::compareForms(const std::vector<Production> &production, const std::vector<float> &x,
                             const std::vector<float> &y) {
  std::vector<float> other(y.size());
  for (const Production &form : production) {
    form.evaluate(x.data(), other.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      if (bitsOf(other[i]) != bitsOf(y[i]))
        fault(" at " + textOf(x[i]) + " is " + textOf(y[i]) + ", but " + textOf(other[i]) +
              " in the form '" + form.form + "' of the kernels");
  }
}

} // namespace

bool roundsItsArgument(const nlohmann::json &function) {
  if (!StepArrays::isBinary32(function))
    return false;
  const std::string argument = argumentOf(function);
  const std::string steps = function.at("steps").dump();
  if (steps.find("rn16(" + argument + ")") == std::string::npos)
    return false;
  for (const std::string step : function.at("steps"))
    if (!readsRounded(reference::Expression(step.substr(step.find(" = ") + 3)).tree(), argument))
      return false;
  return true;
}

SweepResult sweepHalves(const nlohmann::json &functions, const std::string &name,
                        const std::vector<Production> &production,
                        const HalfSweepOptions &options) {
  HalfSweep sweep(functions, name, options);
  if (!roundsItsArgument(functionNamed(functions, name)))
    sweep.fault(" does not read its argument as a binary16 alone");
  std::vector<float> h(kHalves);
  for (uint32_t bits = 0; bits < kHalves; ++bits)
    h[bits] = reference::floatOfBinary16(static_cast<uint16_t>(bits));
  const std::vector<float> y = resultsOf(functions, name, h);
  std::string bytes;
  for (size_t i = 0; i < h.size(); ++i) {
    sweep.judge(h[i], y[i]);
    const uint32_t bits = bitsOf(y[i]);
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<char>(bits >> shift & 255));
  }
  sweep.compareForms(production, h, y);
  // Both ends of each interval: where the steps decide, they are held against h; where a special
  // case does, it says the result itself.
  const std::vector<float> steps = resultsOf(bare(functions, name), name, h);
  for (const bool outer : {false, true}) {
    std::vector<float> ends(h.size());
    for (size_t i = 0; i < h.size(); ++i)
      ends[i] = endOfInterval(h[i], outer);
    const std::vector<float> atEnds = resultsOf(functions, name, ends);
    for (size_t i = 0; i < h.size(); ++i)
      if (bitsOf(atEnds[i]) == bitsOf(steps[i]) && bitsOf(atEnds[i]) != bitsOf(y[i]))
        sweep.judge(h[i], atEnds[i]);
    sweep.compareForms(production, ends, atEnds);
  }
  for (const Production &form : production)
    sweep.result.forms.push_back(form.form);
  sweep.result.digest = sha256Hex(bytes);
  if (!(sweep.result.screeningError < kMargin / 2))
    sweep.fault(": binary64 is off by " + std::to_string(sweep.result.screeningError) +
                " ulp, too far to screen by it");
  return sweep.result;
}

void writeHalfRecord(const nlohmann::json &functions, const std::string &name,
                     const SweepResult &all) {
  const nlohmann::ordered_json record = {
      {"schema", "writ.function_sweep.v1"},
      {"function", name},
      {"steps_sha256", stepsDigest(functions, name)},
      {"arguments", "all 2^16 binary16 patterns, ascending as unsigned integers, and the binary32 "
                    "ends of the interval that rounds to each"},
      {"results", "SHA-256 of the 2^16 results; little-endian binary32, a NaN as 0x7fc00000"},
      {"sha256", all.digest},
      {"max_ulp", statedUlp(all.maxUlp)},
      {"max_ulp_of", "binary16"},
      {"max_ulp_at", textOf(all.worstAt)},
      {"provenance",
       {{"command", "function_sweep --record " + name},
        {"oracle", "MPFR " + std::string(mpfr_get_version()) + ", 320 bits, each argument"},
        {"decided_by_mpfr", all.decided},
        {"kernel_forms", all.forms}}}};
  std::ofstream(recordPath(name)) << record.dump(1) << "\n";
}

std::string differenceFromHalfRecord(const nlohmann::json &functions, const std::string &name,
                                     const SweepResult &all) {
  const nlohmann::json record = readRecord(name), &function = functionNamed(functions, name);
  if (!all.fault.empty())
    return all.fault;
  if (record.at("steps_sha256") != stepsDigest(functions, name))
    return name +
           ": its steps are not those of its record; measure anew: function_sweep --record " + name;
  for (const char *field : {"max_ulp", "max_ulp_of"})
    if (function.value(field, nlohmann::json()) != record.at(field))
      return name + ": functions.json states " + field + " " +
             function.value(field, nlohmann::json()).dump() + ", the record has " +
             record.at(field).dump();
  if (record.at("sha256") != all.digest)
    return name + ": results have the digest " + all.digest + ", the record " +
           record.at("sha256").get<std::string>();
  if (record.at("max_ulp") != statedUlp(all.maxUlp))
    return name + ": max_ulp is " + std::to_string(statedUlp(all.maxUlp)) + ", the record has " +
           record.at("max_ulp").dump();
  return "";
}

} // namespace writ::test
