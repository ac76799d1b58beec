//===- AttentionOracle.cpp - exact attention and KV state -----------------===//
#include "tests/conformance/AttentionOracle.h"

#include "ir/Reference/Bound.h"
#include "tests/conformance/Oracle.h"
#include "tests/conformance/OracleStorage.h"

#include <algorithm>
#include <cmath>

namespace writ::test {
namespace {

using reference::kUnitRoundoff;

/// Element `index` of a plane of the KV state.
double storedValue(const reference::KvState &kv, const std::vector<std::byte> &plane,
                   int64_t index) {
  if (!kv.storage.starts_with("q"))
    return oracle::scalarAt(kv.storage, plane.data(), index);
  const oracle::BlockElement e = oracle::blockElementAt(kv.storage, plane.data(), index);
  return e.scale * e.code; // exact
}

/// An operand as a `…_compute` field lets the op see it.
double taken(const nlohmann::json &word, double stored) {
  return word == "fp16_rounded" ? oracle::roundedToBinary16(stored) : stored;
}

/// Only the variables that the bound names.
Variables declaredOf(const nlohmann::json &declared, const Variables &all) {
  Variables variables;
  for (const auto &[name, value] : all)
    if (declared["bound"]["variables"].contains(name))
      variables[name] = value;
  return variables;
}

class Attention {
public:
  Attention(Problem &problem, const nlohmann::json &declared, const JudgeElement &judge)
      : problem(problem), declared(declared), judge(judge), dim(d("head_dim")),
        lanes(Data::get().vocabulary["words"]["reduction"][declared["score_reduction"]]["lanes"]) {}

  void judgeQuery(int64_t row, int64_t head);
  int64_t d(const char *name) const { return problem.call.dimensions.at(name); }

private:
  /// K and V of the keys that the query sees, and their scores.
  void readKeys(int64_t row, int64_t head);
  void capScores();
  /// A query that is scaled is an operand that is rounded when it is read: its dot is the score.
  bool scalesQuery() const { return declared["score_scale"] == "fp32_mul_of_query"; }
  double scaleOfDots() const { return scalesQuery() ? 1 : problem.call.numbers.at("scale"); }
  /// The ranges that give a partial.
  double chunks() const;
  double errorOf(const char *field) const {
    return declared.contains(field) ? relativeErrorOf(Data::get().functions, declared[field]) : 0;
  }

  Problem &problem;
  const nlohmann::json &declared;
  const JudgeElement &judge;
  int64_t dim, lanes;
  int64_t first = 0, keys = 0; ///< positions that the query sees
  std::vector<Real> scores;
  std::vector<double> values; ///< [key][dim]
  double largestDot = 0;      ///< the largest sum of |q * k|
};

void Attention::readKeys(int64_t row, int64_t head) {
  const int64_t end = problem.call.rows.position[row] + 1, window = problem.kv.window;
  const int64_t kvHeads = d("kv_heads"), kvHead = head / (d("heads") / kvHeads);
  first = window > 0 ? std::max<int64_t>(0, end - window) : 0;
  keys = end - first;
  const auto &sequence = problem.kv.sequences[problem.call.rows.sequence[row]];
  const double number = problem.call.numbers.at("scale");
  std::vector<double> query;
  for (int64_t i = 0; i < dim; ++i) {
    const double q = oracle::valueOf(problem, "q", (row * d("heads") + head) * dim + i);
    query.push_back(taken(declared["q_compute"], scalesQuery() ? double(float(q * number)) : q));
  }
  scores.clear();
  values.clear();
  largestDot = 0;
  const Real scale(scaleOfDots());
  for (int64_t key = 0; key < keys; ++key) {
    Real dot;
    double magnitude = 0;
    for (int64_t i = 0; i < dim; ++i) {
      const int64_t at = ((first + key) * kvHeads + kvHead) * dim + i;
      // Exact in binary64: at most 24 bits times 24 bits.
      const double product =
          query[i] * taken(declared["k_compute"], storedValue(problem.kv, sequence.k, at));
      dot += Real(product);
      magnitude += std::fabs(product);
      values.push_back(taken(declared["v_compute"], storedValue(problem.kv, sequence.v, at)));
    }
    scores.push_back(dot * scale);
    largestDot = std::max(largestDot, magnitude);
  }
}

void Attention::capScores() {
  const Real cap(problem.call.numbers.at("soft_cap"));
  for (Real &score : scores) { // tanh x = 1 - 2 / (e^2x + 1)
    const Real power = exp(Real(2.0) * (score / cap));
    score = cap * (Real(1.0) - Real(2.0) / (power + Real(1.0)));
  }
}

double Attention::chunks() const {
  const nlohmann::json &partition = declared["partition"];
  const std::string kind = partition["kind"];
  const int64_t end = first + keys;
  if (kind == "none" || end < partition["threshold"])
    return 1;
  if (kind == "kv_chunks_by_workers")
    return double(std::min(problem.call.schedule.workers, keys));
  const int64_t chunk = partition["chunk"];
  return double((end - 1) / chunk - first / chunk + 1);
}

void Attention::judgeQuery(int64_t row, int64_t head) {
  readKeys(row, head);
  double largestScore = 0;
  for (const Real &score : scores)
    largestScore = std::max(largestScore, std::fabs(score.toDouble()));
  if (declared["soft_cap"] != "none")
    capScores();
  std::vector<Real> all = scores; // with the sink
  if (declared["sinks"] != "none")
    all.push_back(Real(oracle::valueOf(problem, "sinks", head)));
  const Real largest = *std::max_element(all.begin(), all.end());
  const Real least = *std::min_element(all.begin(), all.end());
  Real sum;
  std::vector<Real> weights;
  for (const Real &score : all) {
    weights.push_back(exp(score - largest));
    sum += weights.back();
  }
  const double roundings = std::ceil(double(dim) / double(lanes)) + std::log2(lanes) + 1;
  const double gamma = roundings * kUnitRoundoff / (1 - roundings * kUnitRoundoff);
  Variables variables{{"keys", double(keys)},
                      {"chunks", chunks()},
                      {"score_error", gamma * std::fabs(scaleOfDots()) * largestDot},
                      {"spread", (largest - least).toDouble()},
                      {"exponential_error", errorOf("exponential")},
                      {"cap_error", errorOf("soft_cap_function")},
                      {"max_abs_score", largestScore}};
  if (problem.call.numbers.contains("soft_cap"))
    variables["soft_cap"] = problem.call.numbers.at("soft_cap");
  std::vector<double> shares;
  for (const Real &weight : weights)
    shares.push_back((weight / sum).toDouble());
  for (int64_t i = 0; i < dim; ++i) {
    Real value;
    double magnitude = 0, largestValue = 0;
    for (int64_t key = 0; key < keys; ++key) {
      const double v = values[static_cast<size_t>(key * dim + i)];
      value.addProduct(weights[static_cast<size_t>(key)], v);
      magnitude += shares[static_cast<size_t>(key)] * std::fabs(v);
      largestValue = std::max(largestValue, std::fabs(v));
    }
    const Real exact = value / sum;
    variables["weighted_abs"] = magnitude;
    variables["max_abs_value"] = largestValue;
    variables["abs_exact"] = std::fabs(exact.toDouble());
    judge(oracle::valueOf(problem, "out", (row * d("heads") + head) * dim + i), exact,
          declaredOf(declared, variables));
  }
}

} // namespace

void attentionOracle(Problem &problem, const nlohmann::json &declared, const JudgeElement &judge) {
  Attention attention(problem, declared, judge);
  for (int64_t row = 0; row < attention.d("rows"); ++row)
    for (int64_t head = 0; head < attention.d("heads"); ++head)
      attention.judgeQuery(row, head);
}

void kvStoreOracle(Problem &problem, const nlohmann::json &declared, const JudgeElement &judge) {
  const int64_t width =
      problem.call.dimensions.at("kv_heads") * problem.call.dimensions.at("head_dim");
  const int64_t block = declared.value("block", int64_t(1));
  for (int64_t row = 0; row < problem.call.dimensions.at("rows"); ++row) {
    const auto &sequence = problem.kv.sequences[problem.call.rows.sequence[row]];
    for (const bool isK : {true, false})
      for (int64_t i = 0; i < width; ++i) {
        const auto given = [&](int64_t column) {
          return double(oracle::valueOf(problem, isK ? "k" : "v", row * width + column));
        };
        double magnitude = 0;
        for (int64_t j = i / block * block; j < (i / block + 1) * block; ++j)
          magnitude = std::max(magnitude, std::fabs(given(j)));
        judge(storedValue(problem.kv, isK ? sequence.k : sequence.v,
                          problem.call.rows.position[row] * width + i),
              Real(given(i)),
              declaredOf(declared, {{"abs_exact", std::fabs(given(i))}, {"magnitude", magnitude}}));
      }
  }
}

} // namespace writ::test
