//===- Shapes.h - shapes at the edges that data name ----------------------===//
#pragma once

#include "tests/conformance/Problem.h"

#include <set>

namespace writ::test {

struct Shape {
  Dimensions dimensions;
  std::vector<int32_t> positions = {};
  int64_t window = 0; ///< where the contract has one; 0: the caller's choice
};
/// "k288_n33_rows3", with "_kv257" for the longest history.
std::string nameOf(const Shape &shape);

/// Numbers at which loops or arithmetic of a contract may change: lanes, units and segments of its
/// reductions, counts of its fields (tile, chunk, threshold, block), blocks of its storages.
std::set<int64_t> edgesOf(const nlohmann::json &contract);

/// Shapes that a map accepts: each dimension at 1, at each edge of its contract, at one step below
/// and above, and at the ends of its range, the others being small; histories of such lengths;
/// units of the map's split just below, at and above `workers`.
std::vector<Shape> edgeShapes(const nlohmann::json &map, const std::string &contract,
                              int64_t workers = 1);

/// Whether a provider's map takes an op of these dimensions.
bool accepts(const nlohmann::json &map, const Dimensions &dimensions);

} // namespace writ::test
