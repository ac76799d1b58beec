//===- Oracle.cpp - exact arithmetic against the declared bounds ----------===//
//
// One function for each family computes the real-number result of the op, and the variables of its
// bound, from the problem's inputs alone.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Oracle.h"

#include "ir/Reference/Bound.h"
#include "tests/conformance/AttentionOracle.h"
#include "tests/conformance/Mpfr.h"
#include "tests/conformance/OracleOps.h"
#include "tests/conformance/OracleStorage.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace writ::test {
namespace {

using reference::evaluateBound;

class Oracle {
public:
  explicit Oracle(Problem &problem)
      : problem(problem), declared(Data::get().contracts.at(problem.contract["id"])),
        outIsHalf(declared["operands"].contains("out") &&
                  declared["operands"]["out"]["storage"] == "f16") {}

  Judgement judgement() {
    judgeAll();
    if (result.judged == 0) // nothing was shown
      result.worst = std::numeric_limits<double>::infinity();
    return result;
  }

private:
  void judgeAll() {
    const std::string family = problem.family();
    if (judgeRowOp(problem, declared, judging()))
      return;
    if (family == "embedding")
      embedding();
    else if (family == "quantize_activation")
      quantize();
    else if (family == "linear")
      linear();
    else if (family == "rope_table")
      ropeTable();
    else if (family == "kv_store")
      kvStoreOracle(problem, declared, judging());
    else if (family == "attention")
      attentionOracle(problem, declared, judging());
    else if (family == "log_probability")
      logProbability();
    else
      throw std::runtime_error("no oracle for '" + family + "'");
  }

  int64_t d(const char *name) const { return problem.call.dimensions.at(name); }

  JudgeElement judging() {
    return [this](double computed, const Real &exact, const Variables &variables) {
      judge(computed, exact, variables);
    };
  }

  /// Compares one element with its exact value.
  void judge(double computed, const Real &exact, const Variables &variables) {
    const double error = abs(Real(computed) - exact).toDouble();
    const double bound = evaluateBound(declared, variables);
    if (outIsHalf && std::fabs(exact.toDouble()) + bound > 65504) {
      ++result.outOfRange; // what the bound calls out of the range of binary16
      return;
    }
    ++result.judged;
    const bool within = error <= bound; // false for a NaN
    const double ratio = error == 0                ? 0
                         : !within && !(bound > 0) ? std::numeric_limits<double>::infinity()
                                                   : error / bound;
    result.worst = std::max(result.worst, std::isnan(computed) || std::isnan(ratio)
                                              ? std::numeric_limits<double>::infinity()
                                              : ratio);
  }

  /// Element of a weight as a real number, and |d * code| + |m|.
  std::pair<Real, double> weightElement(int64_t row, int64_t column) const {
    const reference::Operand &weight = problem.call.operands.at("weight");
    const std::byte *bytes =
        weight.bytes.data() + row * oracle::rowBytes(weight.storage, weight.shape.back());
    if (!weight.storage.starts_with("q")) {
      const double value = oracle::scalarAt(weight.storage, bytes, column);
      return {Real(value), std::fabs(value)};
    }
    const oracle::BlockElement e = oracle::blockElementAt(weight.storage, bytes, column);
    const double code = double(e.code) * e.subScale, minimum = e.minimum * e.subMinimum; // exact
    return {Real(e.scale) * Real(code) + Real(minimum),
            std::fabs(e.scale * code) + std::fabs(minimum)};
  }
  /// The weights and the activation codes of one dot product.
  const std::byte *weightRow(int64_t column) const {
    const reference::Operand &weight = problem.call.operands.at("weight");
    return weight.bytes.data() + column * oracle::rowBytes(weight.storage, d("k"));
  }
  oracle::Codes activationRow(int64_t row) const {
    const reference::Operand &operand = problem.call.operands.at("activation");
    return {operand.storage, operand.bytes.data() + row * oracle::rowBytes(operand.storage, d("k")),
            d("k")};
  }

  void embedding();
  void quantize();
  double factor(const char *compute, double value) const;
  void linear();
  void linearBlocks(int64_t row, int64_t column, Real &sum, double &magnitude);
  void linearLanes(int64_t row, int64_t column, Real &sum, Variables &variables);
  void ropeTable();
  void logProbability();

  Problem &problem;
  const nlohmann::json &declared; ///< the contract as registered, whatever the problem's copy says
  bool outIsHalf;
  Judgement result;
};

void Oracle::embedding() {
  const Real factor = declared["scale"] == "sqrt_n" ? sqrt(Real(double(d("n")))) : Real(1.0);
  const std::vector<double> out = oracle::valuesOf(problem, "out");
  for (int64_t row = 0; row < d("rows"); ++row)
    for (int64_t i = 0; i < d("n"); ++i) {
      const Real exact = weightElement(problem.call.rows.token[row], i).first * factor;
      Variables variables;
      if (declared["bound"]["variables"].contains("abs_exact"))
        variables["abs_exact"] = std::fabs(exact.toDouble());
      judge(out[row * d("n") + i], exact, variables);
    }
}

void Oracle::quantize() {
  const int64_t k = d("k");
  std::span<float> x = problem.floats("input");
  const std::string &storage = problem.call.operands.at("out").storage;
  const int64_t elements = declared["block"];
  for (int64_t row = 0; row < d("rows"); ++row) {
    const oracle::Codes codes{
        storage, problem.buffers.at("out").base() + row * oracle::rowBytes(storage, k), k};
    for (int64_t i = 0; i < k; ++i) {
      double magnitude = 0;
      for (int64_t j = i / elements * elements; j < (i / elements + 1) * elements; ++j)
        magnitude = std::max(magnitude, std::fabs(double(x[row * k + j])));
      const double scale = codes.scale(i / elements);
      // Where the scale is rounded after the codes are made, the bound is in terms of the
      // unrounded.
      Variables variables{{"scale", codes.hasHalfScale() ? magnitude / 127 : std::fabs(scale)}};
      const bool inverseOverflows = std::isinf(127.0f / static_cast<float>(magnitude));
      if (declared["bound"]["variables"].contains("dropped"))
        variables["dropped"] =
            magnitude < std::stod(declared["zero_below"].get<std::string>()) || inverseOverflows
                ? magnitude
                : 0;
      judge(scale * codes.code(i), Real(x[row * k + i]), variables); // exact: 24 bits times 8 bits
    }
  }
}

void Oracle::linearBlocks(int64_t row, int64_t column, Real &sum, double &magnitude) {
  const std::string &storage = problem.call.operands.at("weight").storage;
  const std::byte *weight = weightRow(column);
  const oracle::Codes activation = activationRow(row);
  const int64_t elements = oracle::blockSize(storage);
  for (int64_t b = 0; b < d("k") / elements; ++b) {
    double dot = 0, codes = 0; // integers below 2^53
    oracle::BlockElement e;
    for (int64_t j = b * elements; j < (b + 1) * elements; ++j) {
      e = oracle::blockElementAt(storage, weight, j);
      const double code = activation.code(j);
      dot += e.code * code * e.subScale;
      codes += code * e.subMinimum;
    }
    const Real term = Real(e.scale) * Real(dot), minimum = Real(e.minimum) * Real(codes);
    sum += Real(activation.scale(b)) * (term + minimum);
    magnitude += std::fabs(activation.scale(b)) *
                 (std::fabs(term.toDouble()) + std::fabs(minimum.toDouble()));
  }
}

/// Several dots of each block: adds to the variables the magnitudes that meet in one lane.
void Oracle::linearLanes(int64_t row, int64_t column, Real &sum, Variables &variables) {
  const std::string &storage = problem.call.operands.at("weight").storage;
  const std::byte *weight = weightRow(column);
  const oracle::Codes activation = activationRow(row);
  const int64_t elements = oracle::blockSize(storage);
  const std::string product = declared["product"], accumulate = declared["block_accumulate"];
  const int64_t minimumLanes = accumulate.ends_with("_lanes4") ? 4 : 1;
  auto add = [&](double factor, double other, double integer) {
    const Real term = Real(factor) * Real(other) * Real(integer);
    sum += term;
    variables["sum_abs"] += std::fabs(term.toDouble());
    if (variables.contains("sum_integers"))
      variables["sum_integers"] += std::fabs(integer);
  };
  for (int64_t b = 0; b < d("k") / elements; ++b) {
    const double offset = product.ends_with("_offset32") ? 32 : 0;
    double dots[8] = {}, minimums[4] = {};
    oracle::BlockElement e;
    for (int64_t j = 0; j < elements; ++j) {
      e = oracle::blockElementAt(storage, weight, b * elements + j);
      const double code = activation.code(b * elements + j), scaled = code * e.subScale;
      dots[j % 32 / 4] += scaled * (e.code + offset);
      dots[j / 32 % 8] -= scaled * offset;
      minimums[minimumLanes == 4 ? j / 64 : 0] += code * e.subMinimum;
    }
    for (const double dot : dots)
      add(e.scale, activation.scale(b), dot);
    if (activation.hasValueSum())
      add(e.minimum, activation.valueSum(b), 1);
    else if (storage.ends_with("_k") && e.minimum != 0)
      for (int64_t lane = 0; lane < minimumLanes; ++lane)
        add(e.minimum, activation.scale(b), minimums[lane]);
  }
}

/// To `bits` binary digits, the last of them no less than 2^least.
double roundedTo(double value, int bits, int least) {
  if (!std::isfinite(value))
    return value;
  int exponent;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - bits, least);
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

/// A factor as the contract's words let the multiply-add see it.
double Oracle::factor(const char *compute, double value) const {
  const auto flushed = [](double x) { return std::fabs(x) < 0x1p-126 ? 0.0 : x; };
  if (declared[compute] == "bf16_rounded_flushed" && std::isfinite(value)) {
    int exponent;
    const double fraction = std::frexp(flushed(value), &exponent); // of 8 bits after the rounding
    return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
  }
  if (declared[compute] == "fp16_rounded")
    return roundedTo(value, 11, -24);
  if (declared[compute] == "bf16_rounded")
    return roundedTo(value, 8, -133);
  const auto &words = Data::get().vocabulary["words"]["reduction"];
  return words[declared["reduction"]].value("multiply_add", "") == "fma_flushed" ? flushed(value)
                                                                                 : value;
}

void Oracle::linear() {
  const int64_t k = d("k"), n = d("n");
  const bool blocks = declared["product"] != "fp32_each_element";
  const bool lanes = declared["block_term"] == "fp32_mul_scales";
  const std::string &storage = problem.call.operands.at("weight").storage;
  const auto unit = double(storage.ends_with("_k") ? oracle::blockSize(storage) : 32);
  const std::vector<double> out = oracle::valuesOf(problem, "out");
  std::vector<double> activation =
      blocks ? std::vector<double>() : oracle::valuesOf(problem, "activation");
  // An operand that is rounded when it is read is as rounded in the exact result.
  for (double &x : activation)
    if (declared["activation_compute"] == "fp16_rounded")
      x = oracle::roundedToBinary16(x);
    else if (declared["activation_compute"] == "bf16_rounded")
      x = oracle::roundedToBfloat16(x);
  const std::vector<double> bias =
      problem.buffers.contains("bias") ? oracle::valuesOf(problem, "bias") : std::vector<double>(n);
  for (int64_t row = 0; row < d("rows"); ++row)
    for (int64_t column = 0; column < n; ++column) {
      Real sum;
      double magnitude = 0;
      Variables variables{{"blocks", std::ceil(double(k) / unit)}, {"sum_abs", 0}};
      if (declared["bound"]["variables"].contains("sum_integers"))
        variables["sum_integers"] = 0;
      if (lanes)
        linearLanes(row, column, sum, variables);
      else if (blocks)
        linearBlocks(row, column, sum, magnitude);
      else
        for (int64_t i = 0; i < k; ++i) {
          const double x = factor("activation_compute", activation[row * k + i]);
          const auto [w, size] = weightElement(column, i);
          if (factor("weight_compute", size) == 0)
            continue;
          sum += Real(x) * w;
          magnitude += std::fabs(x) * size;
        }
      sum += Real(bias[column]);
      magnitude += std::fabs(bias[column]);
      variables["sum_abs"] += magnitude;
      if (!blocks)
        variables["k"] = double(k);
      if (declared["bound"]["variables"].contains("abs_exact"))
        variables["abs_exact"] = std::fabs(sum.toDouble());
      judge(out[row * n + column], sum, variables);
    }
}

void Oracle::ropeTable() {
  const int64_t pairs = d("rope_dims") / 2;
  std::span<float> out = problem.floats("out");
  for (int64_t row = 0; row < d("rows"); ++row)
    for (int64_t i = 0; i < pairs; ++i) {
      const double frequency = oracle::valueOf(problem, "frequencies", i);
      const Real angle = Real(double(problem.call.rows.position[row])) * Real(frequency);
      Variables variables{{"abs_angle", std::fabs(angle.toDouble())}};
      if (declared["bound"]["variables"].contains("pairs"))
        variables["pairs"] = double(pairs);
      judge(out[row * 2 * pairs + i], cos(angle), variables);
      judge(out[row * 2 * pairs + pairs + i], sin(angle), variables);
    }
}

void Oracle::logProbability() {
  const int64_t vocabulary = d("vocabulary");
  const std::vector<double> all = oracle::valuesOf(problem, "logits");
  for (int64_t row = 0; row < d("rows"); ++row) {
    const std::span<const double> logits = std::span(all).subspan(row * vocabulary, vocabulary);
    const double largest = *std::max_element(logits.begin(), logits.end());
    Real sum;
    for (const double logit : logits)
      sum += exp(Real(logit) - Real(largest));
    const Real difference = Real(logits[problem.call.rows.token[row]]) - Real(largest);
    const Real exact = difference - log(sum);
    judge(problem.floats("out")[row], exact,
          {{"vocabulary", double(vocabulary)},
           {"abs_difference", std::fabs(difference.toDouble())},
           {"exponential_error", relativeErrorOf(Data::get().functions, declared["exponential"])},
           {"logarithm_error", relativeErrorOf(Data::get().functions, declared["logarithm"])},
           {"abs_log_sum", std::fabs(log(sum).toDouble())},
           {"abs_exact", std::fabs(exact.toDouble())}});
  }
}

} // namespace

double relativeErrorOf(const nlohmann::json &functions, const std::string &name) {
  for (const nlohmann::json &function : functions.at("functions"))
    if (function.at("name") == name) // an ulp of binary32 is at most 2^-23 of the value
      return (function["max_ulp"].is_number() ? function["max_ulp"].get<double>() : 2) *
             (function.contains("max_ulp_of") ? 0x1p-10 : 0x1p-23);
  throw std::runtime_error("no function '" + name + "'");
}

Judgement judgementOf(Problem &problem) {
  return Oracle(problem).judgement();
}

double worstErrorOverBound(Problem &problem) {
  return judgementOf(problem).worst;
}

} // namespace writ::test
