//===- SampleOracle.cpp - which tokens real arithmetic lets a draw give ---===//
#include "tests/conformance/SampleOracle.h"

#include "tests/conformance/Mpfr.h"
#include "tests/conformance/Oracle.h"
#include "tests/conformance/OracleStorage.h"

#include <algorithm>

namespace writ::test {
namespace {

constexpr double kRoundoff = 0x1p-24;

/// A real number, and how far the computed one may be from it.
struct Measured {
  Real exact;
  double error = 0;
};

/// Whether a may be computed as at least b, and as less than it.
bool mayReach(const Measured &a, const Measured &b) {
  return (b.exact - a.exact).toDouble() <= a.error + b.error;
}
bool mayStayBelow(const Measured &a, const Measured &b) {
  return (a.exact - b.exact).toDouble() <= a.error + b.error;
}

/// The first word of Philox-4x32-10 (Salmon et al., SC 2011), its words named as in the paper: left
/// and right of the two Feistel pairs.
uint32_t firstRandomWord(const reference::SampleRequest &request) {
  const auto low = [](uint64_t word) { return static_cast<uint32_t>(word & 0xffffffffu); };
  const auto high = [](uint64_t word) { return static_cast<uint32_t>(word >> 32); };
  uint32_t r0 = low(request.position), l0 = high(request.position);
  uint32_t r1 = low(request.stream), l1 = high(request.stream);
  uint64_t key0 = low(request.seed), key1 = high(request.seed);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 3528531795u * uint64_t(r0), p1 = 3449720151u * uint64_t(r1);
    const uint32_t nextR0 = high(p1) ^ l0 ^ low(key0), nextR1 = high(p0) ^ l1 ^ low(key1);
    l0 = low(p1), l1 = low(p0), r0 = nextR0, r1 = nextR1;
    key0 += 2654435769u, key1 += 3144134277u; // the golden ratio, and sqrt(3) - 1
  }
  return r0;
}

struct Candidate {
  int32_t id;
  double logit; ///< a binary32 value
};

/// One operation is rounded to binary32: what IEEE 754 defines, whoever does it. A binary64
/// quotient or product of binary32 values rounds to the same as the real one.
double roundedToBinary32(double value) {
  return static_cast<double>(static_cast<float>(value));
}

struct Draw {
  const reference::SampleRequest &request;
  double exponentialError; ///< relative, of the contract's function

  /// exp(x - x0) of each candidate.
  std::vector<Measured> weights(const std::vector<Candidate> &from) const {
    std::vector<Measured> result;
    for (const Candidate &candidate : from) {
      const Real difference = Real(candidate.logit) - Real(from[0].logit);
      const Real exact = exp(difference);
      const double moved = kRoundoff * std::fabs(difference.toDouble());
      if (difference < Real(-150.0)) { // so far below binary32 that each side has zero, or nearly
        result.push_back({exact, 0x1p-126});
        continue;
      }
      const double argument = std::expm1(moved * (1 + 4 * kRoundoff));
      const double relative = argument * (1 + exponentialError) + exponentialError;
      result.push_back({exact, relative * exact.toDouble() + 0x1p-126});
    }
    return result;
  }

  /// The sums of the first 1, 2, ... of them, added one by one.
  static std::vector<Measured> runningSums(const std::vector<Measured> &terms) {
    std::vector<Measured> sums;
    Measured sum;
    for (const Measured &term : terms) {
      sum.exact += term.exact;
      sum.error += term.error;
      const double additions = static_cast<double>(sums.size()) * kRoundoff;
      sums.push_back({sum.exact, sum.error + additions / (1 - additions) *
                                                 (sum.exact.toDouble() + sum.error)});
    }
    return sums;
  }

  static Measured product(double factor, const Measured &of) {
    const Real exact = Real(factor) * of.exact;
    return {exact,
            factor * of.error + kRoundoff * (exact.toDouble() + factor * of.error) + 0x1p-149};
  }

  /// How many candidates truncation may leave.
  std::set<size_t> kept(const std::vector<Candidate> &all) const {
    const std::vector<Measured> p = weights(all);
    std::set<size_t> byTopP{p.size()};
    if (request.topP < 1) {
      byTopP.clear();
      const std::vector<Measured> sums = runningSums(p);
      const Measured wanted = product(request.topP, sums.back());
      for (size_t i = 0; i < sums.size(); ++i) {
        const bool last = i + 1 == sums.size();
        if ((last || mayReach(sums[i], wanted)) && (i == 0 || mayStayBelow(sums[i - 1], wanted)))
          byTopP.insert(i + 1);
      }
    }
    std::set<size_t> byMinP{p.size()};
    if (request.minP > 0) {
      byMinP.clear();
      const Measured least = product(request.minP, p[0]);
      for (size_t i = 0; i < p.size(); ++i) {
        const bool last = i + 1 == p.size();
        if (mayReach(p[i], least) && (last || mayStayBelow(p[i + 1], least)))
          byMinP.insert(i + 1);
      }
    }
    std::set<size_t> counts;
    for (const size_t a : byTopP)
      for (const size_t b : byMinP)
        counts.insert(std::min(a, b));
    return counts;
  }

  void drawFrom(std::vector<Candidate> from, std::set<int32_t> &tokens) const {
    for (Candidate &candidate : from)
      candidate.logit = roundedToBinary32(candidate.logit / request.temperature);
    const std::vector<Measured> sums = runningSums(weights(from));
    const double uniform = static_cast<double>(firstRandomWord(request) >> 8) * 0x1p-24;
    const Measured target = product(uniform, sums.back());
    for (size_t i = 0; i < sums.size(); ++i) {
      const bool last = i + 1 == sums.size();
      if ((last || mayReach(sums[i], target)) && (i == 0 || mayStayBelow(sums[i - 1], target)))
        tokens.insert(from[i].id);
    }
  }
};

} // namespace

std::set<int32_t> tokensOf(const Problem &problem, int64_t row) {
  const int64_t vocabulary = problem.call.dimensions.at("vocabulary");
  const reference::SampleRequest &request = problem.call.samples.at(row);
  std::vector<Candidate> candidates;
  for (int64_t i = 0; i < vocabulary; ++i) {
    const double logit = oracle::valueOf(problem, "logits", row * vocabulary + i);
    if (!std::isfinite(logit))
      return {-1};
    candidates.push_back({static_cast<int32_t>(i), logit});
  }
  for (const int32_t token : std::set<int32_t>(request.recent.begin(), request.recent.end())) {
    double &logit = candidates.at(token).logit;
    logit = roundedToBinary32(logit > 0 ? logit / request.repeatPenalty
                                        : logit * request.repeatPenalty);
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  });
  if (request.temperature == 0)
    return {candidates[0].id};
  if (request.topK > 0 && request.topK < vocabulary)
    candidates.resize(static_cast<size_t>(request.topK));
  const Draw draw{request, relativeErrorOf(problem.functions, problem.contract["function"])};
  std::set<int32_t> tokens;
  for (const size_t count : draw.kept(candidates))
    draw.drawFrom({candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count)},
                  tokens);
  return tokens;
}

} // namespace writ::test
