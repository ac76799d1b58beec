//===- AttentionCases.h - what ggml and PyTorch are asked -----------------===//
//
// One query, a KV state of one KV head. scripts/evidence/record_attention.py asks the oracles and
// records their answers in tests/data/attention/; attention_oracle_test.cpp makes the same inputs
// anew and compares.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Problem.h"

#include <iosfwd>

namespace writ::test {

struct AttentionCase {
  std::string name = {};
  std::string oracle; ///< "ggml" or "torch"
  std::string contract;
  int64_t keys = 1, heads = 4, headDim = 64;
  int64_t workers = 1; ///< threads of ggml
  /// How often the query is asked in one op: ggml splits the keys of one query among its threads,
  /// and those of several not.
  int64_t queries = 1;
  /// Scores are exact, and differ by numbers whose exponential the contract's function rounds
  /// correctly, so that another library's good one gives the same bits.
  bool exactExponentials = false;
  uint64_t seed = 1;
};

void PrintTo(const AttentionCase &one, std::ostream *out);

std::vector<AttentionCase> attentionCases();
std::unique_ptr<Problem> makeProblem(const AttentionCase &one);
/// FNV-1a of the bytes of query, keys and values: that the inputs are those that were recorded.
std::string inputDigest(const Problem &problem);

} // namespace writ::test
