//===- Histories.h - one op over the same rows in many ways ---------------===//
//
// The rows of three sequences, once as steps that hold a chunk of each, and then in every way that
// a dimension of invariance speaks of: by the contract's arithmetic, through the reference.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Problem.h"

#include <string>
#include <vector>

namespace writ::test {

/// One way to run all rows of a problem.
struct Way {
  std::string dimension; ///< of invariance, that this way changes
  std::string name;      ///< "3 workers"
  reference::Schedule schedule;
  std::vector<std::vector<size_t>> steps; ///< the rows of each step
  uint64_t leftovers = 0; ///< what the cache holds where no row of the step may look
  size_t slotShift = 0;   ///< the cache's slot of a sequence, that many further on
};

/// A row whose bits a way changed, against the way that differs in this dimension alone.
struct Change {
  std::string dimension, way;
  size_t row = 0;
  int64_t kvLength = 0; ///< positions that the row sees
};

/// Each way that changes a dimension; a problem's rows are those of kSequences sequences in turn,
/// by ascending position.
struct Comparison {
  Way base;
  std::vector<Way> others;
};
std::vector<Comparison> comparisonsOf(const Problem &problem);

/// The outputs of each row, run this way; a NaN has one pattern. Throws ReferenceError.
std::vector<std::string> resultsOf(const Problem &problem, const Way &way);

/// What changed in any of the ways. Throws ReferenceError where the reference refuses the contract.
std::vector<Change> changesOf(const Problem &problem, const std::vector<Comparison> &comparisons);
inline std::vector<Change> changesOf(const Problem &problem) {
  return changesOf(problem, comparisonsOf(problem));
}

/// A problem of a contract for comparisonsOf: `steps` rows of each sequence from position `first`
/// on.
std::unique_ptr<Problem> historyOf(const nlohmann::json &contract, const nlohmann::json &vocabulary,
                                   int64_t first, int64_t steps, Fill fill, uint64_t seed);

} // namespace writ::test
