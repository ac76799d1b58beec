//===- Data.h - the data files, buffers, random numbers -------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace writ::test {

/// The folders contracts/ and kernel_maps/ of the source tree, read once.
struct Data {
  nlohmann::json vocabulary, functions;
  std::map<std::string, nlohmann::json> contracts;  ///< by id
  std::map<std::string, nlohmann::json> composed;   ///< of fusions, by id, as maps name them
  std::map<std::string, nlohmann::json> profiles;   ///< by id
  std::map<std::string, nlohmann::json> kernelMaps; ///< by id
  static const Data &get();

  /// A contract of either kind.
  const nlohmann::json &contract(const std::string &id) const;
  /// The storage types that a model's weights may have: those that some kernel of 'linear' takes.
  std::set<std::string> weightStorages() const;
  /// The ids of a family's contracts, sorted.
  std::vector<std::string> contractsOf(const std::string &family) const;
};

/// Bytes aligned to 64, with a guard behind them that nothing may touch.
class Buffer {
public:
  explicit Buffer(size_t bytes = 0);
  std::span<std::byte> bytes() { return {base(), size}; }
  std::span<const std::byte> bytes() const { return {const_cast<Buffer *>(this)->base(), size}; }
  std::byte *base();
  void poison();
  bool guardIsIntact() const;

private:
  size_t size;
  std::vector<std::byte> memory;
};

/// A small generator of its own, so that inputs are the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t bits();
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(bits() % static_cast<uint64_t>(bound));
  }
  double uniform(double low, double high);

private:
  uint64_t state;
};

float floatAt(std::span<const std::byte> bytes, int64_t index);
/// Equal bits, or both NaN.
bool sameFloat(float a, float b);

} // namespace writ::test
