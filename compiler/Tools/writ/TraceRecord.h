//===- TraceRecord.h - what two runs are compared by ----------------------===//
//
// A digest of each row that each op made, over one token history. It can be saved, to be compared
// with a run on another machine or of another build.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace writ::tool {

/// A row of an op's results: of the token at `position` of a sequence.
struct RowPlace {
  size_t op; ///< index in TraceRecord::ops
  int64_t position, sequence;
};

struct TraceRecord {
  struct Op {
    std::string name, family;
    int64_t layer; ///< -1: in no layer
  };
  std::vector<Op> ops; ///< in the order in which they run
  std::vector<int32_t> ids;
  int64_t sequences = 1; ///< that hold the history
  nlohmann::ordered_json settings;
  std::vector<uint64_t> digests; ///< [position][sequence][op]; 0: the op has no result in that row

  size_t indexOf(const RowPlace &place) const {
    return (size_t(place.position) * size_t(sequences) + size_t(place.sequence)) * ops.size() +
           place.op;
  }
};

void saveTrace(const std::string &path, const TraceRecord &record);
/// E050 where the file is of another form.
TraceRecord loadTrace(const std::string &path);

struct TraceComparison {
  int64_t compared = 0, differing = 0; ///< rows of ops
  std::vector<std::string> onlyA, onlyB;
  /// The first row that differs: of the smallest position, and in it of the first op. Without a
  /// place in b the sequences of A, which hold one history, differ among themselves.
  std::optional<RowPlace> a, b;
};

/// Of one history. Ops are compared by name: another profile may have others.
TraceComparison compareTraces(const TraceRecord &a, const TraceRecord &b);

} // namespace writ::tool
