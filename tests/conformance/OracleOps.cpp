//===- OracleOps.cpp - exact norms, activations, caps, sums, rotations ----===//
//
// Families whose result depends on one row alone, in operands of any scalar storage.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/OracleOps.h"

#include "ir/Reference/Bound.h"
#include "tests/conformance/Oracle.h"
#include "tests/conformance/OracleStorage.h"

#include <algorithm>
#include <cmath>

namespace writ::test {
namespace {

using reference::kLeastSubnormal;
using reference::kUnitRoundoff;

using Variables = std::map<std::string, double>;

double gammaOf(double n) {
  return n * kUnitRoundoff / (1 - n * kUnitRoundoff);
}

/// What the word of `activation` stands for, over the reals.
Real exactActivation(const std::string &activation, const Real &x) {
  const Real zero(0.0), one(1.0), two(2.0);
  if (activation == "silu")
    return x / (one + exp(-x));
  if (activation == "gelu_tanh")
    return x / (one + exp(-geluArgument(x)));
  if (activation == "gelu_erf") // erfc(-z) is 1 + erf(z), without its cancellation
    return x / two * erfc(-x / sqrt(two));
  if (activation == "sigmoid")
    return one / (one + exp(-x));
  if (activation == "tanh")
    return tanh(x);
  if (activation == "softplus")
    return zero < x ? x + log1p(exp(-x)) : log1p(exp(x));
  const Real positive = zero < x ? x : zero;
  if (activation == "relu")
    return positive;
  if (activation == "relu_squared")
    return positive * positive;
  throw std::runtime_error("no oracle for the activation '" + activation + "'");
}

class RowOp {
public:
  RowOp(Problem &problem, const nlohmann::json &declared, const JudgeElement &judge)
      : problem(problem), declared(declared), judgeElement(judge) {}

  bool judgeAll();

private:
  int64_t d(const char *name) const { return problem.call.dimensions.at(name); }
  double numberOf(const char *name) const { return problem.call.numbers.at(name); }

  /// With those of `known` that the bound declares.
  void judge(double computed, const Real &exact, const Variables &known) const {
    Variables variables;
    for (const auto &[name, value] : known)
      if (declared["bound"]["variables"].contains(name))
        variables[name] = value;
    judgeElement(computed, exact, variables);
  }
  double functionError() const {
    return relativeErrorOf(Data::get().functions, declared["function"]);
  }

  void rmsNorm() const;
  void layerNorm() const;
  void l2Norm() const;
  void activation() const;
  void gate() const;
  void softCap() const;
  void residual() const;
  void rope() const;
  void ropeFrequencies() const;

  Problem &problem;
  const nlohmann::json &declared;
  const JudgeElement &judgeElement;
};

void RowOp::rmsNorm() const {
  const int64_t n = d("n");
  const std::vector<double> x = oracle::valuesOf(problem, "input"),
                            w = oracle::valuesOf(problem, "weight");
  const std::vector<double> out = oracle::valuesOf(problem, "out");
  for (int64_t vector = 0; vector < d("rows") * d("vectors"); ++vector) {
    Real sum;
    for (int64_t i = 0; i < n; ++i)
      sum += Real(x[vector * n + i]) * Real(x[vector * n + i]);
    const Real root = sqrt(sum / Real(double(n)) + Real(numberOf("epsilon")));
    for (int64_t i = 0; i < n; ++i) {
      const Real exact = Real(x[vector * n + i]) * Real(w[i]) / root;
      judge(out[vector * n + i], exact,
            {{"n", double(n)},
             {"abs_exact", std::fabs(exact.toDouble())},
             {"abs_weight", std::fabs(w[i])}});
    }
  }
}

void RowOp::layerNorm() const {
  const int64_t n = d("n");
  const std::vector<double> x = oracle::valuesOf(problem, "input"),
                            w = oracle::valuesOf(problem, "weight");
  const std::vector<double> out = oracle::valuesOf(problem, "out");
  const bool hasBias = problem.buffers.contains("bias");
  const std::vector<double> bias =
      hasBias ? oracle::valuesOf(problem, "bias") : std::vector<double>(n, 0.0);
  for (int64_t vector = 0; vector < d("rows") * d("vectors"); ++vector) {
    Real sum, magnitude, squares;
    for (int64_t i = 0; i < n; ++i) {
      sum += Real(x[vector * n + i]);
      magnitude += abs(Real(x[vector * n + i]));
    }
    const Real count = double(n), mean = sum / count;
    for (int64_t i = 0; i < n; ++i) {
      const Real deviation = Real(x[vector * n + i]) - mean;
      squares += deviation * deviation;
    }
    const Real inverse = Real(1.0) / sqrt(squares / count + Real(numberOf("epsilon")));
    const double meanAbs = (magnitude / count).toDouble();
    if (!((gammaOf(std::ceil(double(n) / 64) + 7) * meanAbs + kLeastSubnormal) *
              inverse.toDouble() <=
          0.25))
      throw std::runtime_error("the bound of layer_norm is not valid for this input");
    for (int64_t i = 0; i < n; ++i) {
      const Real scaled = (Real(x[vector * n + i]) - mean) * inverse * Real(w[i]);
      const Real exact = scaled + Real(bias[i]);
      judge(out[vector * n + i], exact,
            {{"n", double(n)},
             {"mean_abs", meanAbs},
             {"inverse", inverse.toDouble()},
             {"abs_weight", std::fabs(w[i])},
             {"abs_scaled", std::fabs(scaled.toDouble())},
             {"abs_exact", std::fabs(exact.toDouble())}});
    }
  }
}

void RowOp::l2Norm() const {
  const int64_t n = d("n");
  const std::vector<double> x = oracle::valuesOf(problem, "input"),
                            out = oracle::valuesOf(problem, "out");
  for (int64_t vector = 0; vector < d("rows") * d("vectors"); ++vector) {
    Real sum;
    for (int64_t i = 0; i < n; ++i)
      sum += Real(x[vector * n + i]) * Real(x[vector * n + i]);
    const Real root = sqrt(sum), epsilon = numberOf("epsilon");
    for (int64_t i = 0; i < n; ++i) {
      const Real exact = Real(x[vector * n + i]) / (root < epsilon ? epsilon : root);
      judge(out[vector * n + i], exact,
            {{"n", double(n)}, {"abs_exact", std::fabs(exact.toDouble())}});
    }
  }
}

void RowOp::activation() const {
  const std::vector<double> x = oracle::valuesOf(problem, "input"),
                            out = oracle::valuesOf(problem, "out");
  for (size_t i = 0; i < out.size(); ++i) {
    const Real exact = exactActivation(declared["activation"], Real(x[i]));
    judge(out[i], exact,
          {{"function_error", functionError()}, {"abs_exact", std::fabs(exact.toDouble())}});
  }
}

/// The exponential that a function's steps call; "" where they call none.
std::string exponentialOf(const std::string &function) {
  const nlohmann::json &functions = Data::get().functions["functions"];
  for (const auto &found : functions)
    for (const auto &called : functions)
      for (const std::string step : found["name"] == function ? found["steps"] : nlohmann::json())
        if (called["summary"].get<std::string>().starts_with("exponential") &&
            step.find(called["name"].get<std::string>() + "(") != step.npos)
          return called["name"];
  return "";
}

void RowOp::gate() const {
  const std::vector<double> gate = oracle::valuesOf(problem, "gate"),
                            up = oracle::valuesOf(problem, "up");
  const std::vector<double> out = oracle::valuesOf(problem, "out");
  const std::string exponential = exponentialOf(declared["function"]);
  const double exponentialError =
      exponential.empty() ? 0 : relativeErrorOf(Data::get().functions, exponential);
  for (size_t i = 0; i < out.size(); ++i) {
    const Real x(gate[i]);
    const Real exact = exactActivation(declared["activation"], x) * Real(up[i]);
    judge(out[i], exact,
          {{"exponential_error", exponentialError},
           {"function_error", functionError()},
           {"abs_argument", std::fabs(geluArgument(x).toDouble())},
           {"abs_exact", std::fabs(exact.toDouble())},
           {"abs_gate", std::fabs(gate[i])},
           {"abs_up", std::fabs(up[i])}});
  }
}

void RowOp::softCap() const {
  const std::vector<double> x = oracle::valuesOf(problem, "input"),
                            out = oracle::valuesOf(problem, "out");
  const Real cap = numberOf("cap");
  for (size_t i = 0; i < out.size(); ++i) {
    const Real exact = cap * tanh(Real(x[i]) / cap);
    judge(out[i], exact,
          {{"function_error", functionError()},
           {"abs_exact", std::fabs(exact.toDouble())},
           {"abs_cap", std::fabs(cap.toDouble())}});
  }
}

void RowOp::residual() const {
  const std::vector<double> a = oracle::valuesOf(problem, "a"), b = oracle::valuesOf(problem, "b");
  const std::vector<double> out = oracle::valuesOf(problem, "out");
  for (size_t i = 0; i < out.size(); ++i) {
    const Real exact = Real(a[i]) + Real(b[i]);
    judge(out[i], exact, {{"abs_exact", std::fabs(exact.toDouble())}});
  }
}

void RowOp::rope() const {
  const int64_t dim = d("head_dim"), pairs = d("rope_dims") / 2, width = d("heads") * dim;
  const bool interleaved = declared["pairing"] == "interleaved";
  const std::vector<double> x = oracle::valuesOf(problem, "input"),
                            out = oracle::valuesOf(problem, "out");
  const std::vector<double> table = oracle::valuesOf(problem, "table");
  for (int64_t row = 0; row < d("rows"); ++row)
    for (int64_t head = 0; head < d("heads"); ++head)
      for (int64_t i = 0; i < pairs; ++i) {
        const int64_t base = row * width + head * dim;
        const int64_t first = base + (interleaved ? 2 * i : i);
        const int64_t second = base + (interleaved ? 2 * i + 1 : pairs + i);
        const double c = table[row * 2 * pairs + i], s = table[row * 2 * pairs + pairs + i];
        auto check = [&](int64_t at, double with0, double with1, bool subtracts) {
          const Real a = Real(x[first]) * Real(with0), b = Real(x[second]) * Real(with1);
          const Real exact = subtracts ? a - b : a + b;
          judge(out[at], exact,
                {{"abs_first", std::fabs(a.toDouble())},
                 {"abs_second", std::fabs(b.toDouble())},
                 {"abs_exact", std::fabs(exact.toDouble())}});
        };
        check(first, c, s, true);
        check(second, s, c, false);
      }
}

/// The published formulas of the scalings, by the exponential of a logarithm.
void RowOp::ropeFrequencies() const {
  const int64_t dims = d("rope_dims");
  const Real one(1.0), size = double(dims), twoPi = Real(8.0) * atan(one);
  const std::string scaling = declared["scaling"];
  const Real base(numberOf("base")), factor(numberOf("factor"));
  const double original = numberOf("original_context"), fast = numberOf("beta_fast"),
               slow = numberOf("beta_slow");
  const bool divides = problem.buffers.contains("factors");
  const std::vector<double> factors =
      divides ? oracle::valuesOf(problem, "factors") : std::vector<double>(dims / 2, 1.0);
  const auto correction = [&](double beta) {
    const Real pair = size * log(Real(original) / (Real(beta) * twoPi)) / (Real(2.0) * log(base));
    return pair.toDouble();
  };
  const double low = std::max(0.0, std::floor(correction(fast)));
  const double high = std::min(double(dims - 1), std::ceil(correction(slow)));
  for (int64_t i = 0; i < dims / 2; ++i) {
    const Real fraction = Real(double(2 * i)) / size;
    Real theta = exp(-fraction * log(base)); // as the scaling leaves it
    if (scaling == "linear")
      theta = theta / factor;
    if (scaling == "ntk") {
      const Real newBase = base * exp(size / (size - Real(2.0)) * log(factor));
      theta = exp(-fraction * log(newBase));
    }
    if (scaling == "yarn") { // the interpolated and the extrapolated one, mixed
      const Real ramp = low == high ? Real(i > low ? 1.0 : 0.0)
                                    : (Real(double(i)) - Real(low)) / (Real(high) - Real(low));
      const Real mix = ramp < Real(0.0) ? Real(0.0) : one < ramp ? one : ramp;
      theta = theta / factor * mix + theta * (one - mix);
    }
    if (scaling == "llama3") {
      const Real wavelength = twoPi / theta;
      const Real smooth = (Real(original) / wavelength - Real(slow)) / Real(fast - slow);
      if (Real(original / slow) < wavelength)
        theta = theta / factor;
      else if (!(wavelength < Real(original / fast)))
        theta = (one - smooth) * theta / factor + smooth * theta;
    }
    const Real exact = theta / Real(factors[i]);
    judge(oracle::valueOf(problem, "out", i), exact, {{"abs_exact", std::fabs(exact.toDouble())}});
  }
}

bool RowOp::judgeAll() {
  const std::map<std::string, void (RowOp::*)() const> families = {
      {"rms_norm", &RowOp::rmsNorm},
      {"layer_norm", &RowOp::layerNorm},
      {"l2_norm", &RowOp::l2Norm},
      {"activation", &RowOp::activation},
      {"gate", &RowOp::gate},
      {"soft_cap", &RowOp::softCap},
      {"residual", &RowOp::residual},
      {"rope", &RowOp::rope},
      {"rope_frequencies", &RowOp::ropeFrequencies}};
  const auto found = families.find(problem.family());
  if (found == families.end())
    return false;
  (this->*found->second)();
  return true;
}

} // namespace

bool judgeRowOp(Problem &problem, const nlohmann::json &declared, const JudgeElement &judge) {
  return RowOp(problem, declared, judge).judgeAll();
}

} // namespace writ::test
