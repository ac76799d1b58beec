//===- Shapes.cpp - shapes at the edges that data name --------------------===//
#include "tests/conformance/Shapes.h"

#include <algorithm>
#include <set>

namespace writ::test {
namespace {

using nlohmann::json;

constexpr int64_t kLargest = 1100;   ///< of a dimension: the reference is slow
constexpr int64_t kSmall = 40;       ///< what is cheap everywhere
constexpr int64_t kVectorLanes = 16; ///< elements of the kernels' widest vectors

/// Counts that stand in the fields of a contract, and the lanes and segments of its reductions.
void addFields(const json &contract, std::set<int64_t> &edges) {
  const json &vocabulary = Data::get().vocabulary;
  const std::string family = contract["family"];
  for (const auto &[path, list] : vocabulary["contract_fields"][family].items()) {
    std::string pointer = "/" + path;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const json::json_pointer at(pointer);
    if (!contract.contains(at))
      continue;
    const json &value = contract[at];
    if (value.is_number_integer() && value > 1)
      edges.insert(value.get<int64_t>());
    const json &words = vocabulary["words"];
    if (!value.is_string() || !words.contains(list) || !words[list].contains(value))
      continue;
    const json &word = words[list][value.get<std::string>()];
    for (const char *key : {"lanes", "unit"})
      if (word.contains(key))
        edges.insert(word[key].get<int64_t>());
    if (word.contains("segments")) // one unit in each, and one more
      edges.insert(word["segments"].get<int64_t>() * word.value("unit", int64_t(1)));
  }
}

json rangeOf(const json &map, const std::string &dimension) {
  return map.at("dimensions").value(dimension, json::object());
}

/// The accepted sizes of a dimension nearest below, at and above `edge`.
void addAround(const json &range, int64_t edge, std::set<int64_t> &sizes) {
  const int64_t step = range.value("multiple_of", int64_t(1));
  const int64_t least = std::max(range.value("min", int64_t(1)), step);
  const int64_t most = std::min(range.value("max", kLargest), kLargest);
  const int64_t at = edge / step * step;
  for (const int64_t size : {at - step, at, at + step})
    if (size >= least && size <= most)
      sizes.insert(size);
}

/// A size that is cheap, and no multiple of a vector where the map leaves the choice.
int64_t smallOf(const json &range) {
  const int64_t step = range.value("multiple_of", int64_t(1));
  const int64_t least = std::max(range.value("min", int64_t(1)), step);
  const int64_t most = std::min(range.value("max", kSmall), kSmall);
  return std::max(least, std::min(3 * step, most) / step * step);
}

/// Sizes that depend on each other: query heads are whole groups of KV heads; what is rotated lies
/// within a head and is even.
bool fits(const Dimensions &d) {
  const auto size = [&](const char *name) {
    const auto it = d.find(name);
    return it == d.end() ? int64_t(0) : it->second;
  };
  if (size("kv_heads") > 0 && size("heads") % size("kv_heads") != 0)
    return false;
  return size("rope_dims") % 2 == 0 &&
         (size("head_dim") == 0 || size("rope_dims") <= size("head_dim"));
}

/// Positions of the rows, for families whose arithmetic depends on them: near `position`.
std::vector<int32_t> positionsOf(const std::string &family, int64_t rows, int64_t position) {
  std::vector<int32_t> positions;
  if (family == "attention" || family == "kv_store" || family == "rope_table")
    for (int64_t row = 0; row < rows; ++row) // rows are of three sequences in turn
      positions.push_back(static_cast<int32_t>(position + row / 3));
  return positions;
}

} // namespace

std::string nameOf(const Shape &shape) {
  std::string name;
  for (const auto &[dimension, size] : shape.dimensions)
    name += (name.empty() ? "" : "_") + dimension + std::to_string(size);
  if (!shape.positions.empty())
    name += "_kv" +
            std::to_string(1 + *std::max_element(shape.positions.begin(), shape.positions.end()));
  return name;
}

std::set<int64_t> edgesOf(const json &contract) {
  std::set<int64_t> edges = {kVectorLanes};
  if (contract.contains("parts"))
    for (const json &part : contract["parts"])
      edges.merge(edgesOf(part));
  else
    addFields(contract, edges);
  const json &storages = Data::get().vocabulary["words"]["storage"];
  for (const auto &[name, operand] : contract["operands"].items())
    if (const json &word = storages[operand["storage"].get<std::string>()];
        word.contains("elements"))
      edges.insert(word["elements"].get<int64_t>());
  return edges;
}

std::vector<Shape> edgeShapes(const json &map, const std::string &contractId, int64_t workers) {
  const json &contract = Data::get().contract(contractId);
  const std::string family = map["op"];
  const json &dimensions = Data::get().vocabulary["families"][family]["dimensions"];
  const std::set<int64_t> edges = edgesOf(contract);
  Dimensions small;
  for (const std::string name : dimensions)
    small[name] = smallOf(rangeOf(map, name));
  if (small.contains("kv_heads"))
    small["heads"] = 2 * small["kv_heads"];
  if (small.contains("rope_dims"))
    small["rope_dims"] = small.contains("head_dim") ? small["head_dim"] / 2 * 2 : 2;
  std::vector<Shape> shapes;
  std::set<std::string> seen;
  const auto add = [&](const Dimensions &sizes, int64_t position) {
    Shape shape{sizes, positionsOf(family, sizes.at("rows"), position)};
    if (accepts(map, sizes) && fits(sizes) && seen.insert(nameOf(shape)).second)
      shapes.push_back(std::move(shape));
  };
  for (const std::string name : dimensions) {
    const json range = rangeOf(map, name);
    std::set<int64_t> sizes;
    addAround(range, range.value("min", int64_t(1)), sizes);
    if (range.contains("max"))
      addAround(range, range["max"], sizes);
    if (name != "rows") // a row is computed by itself: tiles of rows are the kernel's affair
      for (const int64_t edge : edges)
        addAround(range, edge, sizes);
    for (const int64_t size : sizes) {
      Dimensions changed = small;
      changed[name] = size;
      if (name == "kv_heads")
        changed["heads"] = 2 * size;
      add(changed, 2);
    }
  }
  // A unit for each worker, one less, one more.
  const json &extent = map["threading"]["extent"];
  for (const std::string name : extent)
    for (const int64_t units : {workers - 1, workers, workers + 1}) {
      Dimensions changed = small;
      for (const std::string other : extent)
        changed[other] = 1;
      if (changed.contains("kv_heads"))
        changed["kv_heads"] = 1;
      changed[name] = std::max<int64_t>(1, units * map["threading"]["grain"].get<int64_t>());
      add(changed, 2);
    }
  // Histories: a position p sees p + 1 keys.
  if (small.contains("kv_heads"))
    for (const int64_t edge : edges)
      for (const int64_t keys : {edge - 1, edge, edge + 1, 2 * edge, 2 * edge + 1})
        if (keys >= 1 && keys <= kLargest)
          add(small, keys - 1);
  return shapes;
}

bool accepts(const json &map, const Dimensions &dimensions) {
  for (const auto &[name, size] : dimensions) {
    const json range = rangeOf(map, name);
    if (size < range.value("min", int64_t(1)) || size > range.value("max", INT64_MAX) ||
        size % range.value("multiple_of", int64_t(1)) != 0)
      return false;
  }
  return true;
}

} // namespace writ::test
