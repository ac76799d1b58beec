//===- Data.cpp - the data files, random and adversarial values -----------===//
#include "tests/conformance/Data.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

namespace writ::test {
namespace {

namespace fs = std::filesystem;
constexpr size_t kGuard = 256;
constexpr std::byte kGuardByte{0x5c}, kPoisonByte{0xa5};

std::map<std::string, nlohmann::json> readFolders(const fs::path &root) {
  std::map<std::string, nlohmann::json> found;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".json")
      continue;
    nlohmann::json json = nlohmann::json::parse(std::ifstream(entry.path()));
    if (json.contains("id"))
      found.emplace(json["id"].get<std::string>(), json);
  }
  return found;
}

void putHalf(std::byte *at, uint16_t bits) {
  std::memcpy(at, &bits, 2);
}

/// A binary16 scale or minimum.
uint16_t halfScale(Fill fill, Random &random) {
  const auto raw = static_cast<uint16_t>(random.bits());
  switch (fill) {
  case Fill::special:
    switch (random.below(6)) {
    case 0:
      return 0x7c00; // infinity
    case 1:
      return 0x7e01; // NaN
    case 2:
      return 0x8000; // -0
    case 3:
      return 0x7bff; // the largest
    }
    return raw & 0xbfff;
  case Fill::tiny:
    return raw & 0x83ff;
  case Fill::equal:
    return 0x2000; // 2^-7
  case Fill::spread:
    return raw & 0xbfff; // below 2
  default:
    return (raw & 0x83ff) | static_cast<uint16_t>((4 + random.below(5)) << 10);
  }
}

/// Where the binary16 scale and minimum of a block stand; a block's other bytes are any.
std::vector<size_t> halvesOf(const std::string &storage) {
  if (storage == "q6_k")
    return {208};
  if (storage == "q4_1" || storage == "q5_1" || storage == "q4_k" || storage == "q5_k")
    return {0, 2};
  return {0};
}

void fillBlocks(std::span<std::byte> bytes, const std::string &storage, Fill fill, Random &random) {
  const auto blockBytes =
      static_cast<size_t>(reference::rowBytes(storage, reference::blockElements(storage)));
  for (size_t at = 0; at < bytes.size(); at += blockBytes) {
    for (size_t i = at; i < at + blockBytes; ++i)
      bytes[i] = fill == Fill::equal ? std::byte{0x11} : static_cast<std::byte>(random.bits());
    // Now and then the largest codes and sub-scales everywhere, or those of the most negative sum.
    if (fill != Fill::equal && random.below(8) == 0)
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at), blockBytes,
                  random.below(2) ? std::byte{0xff} : std::byte{0x80});
    for (const size_t half : halvesOf(storage))
      putHalf(bytes.data() + at + half, halfScale(fill, random));
  }
}

} // namespace

namespace {

/// The rules of a base whose op and match are not among the profile's own, then those.
nlohmann::json extendedRules(const nlohmann::json &base, const nlohmann::json &own) {
  nlohmann::json rules = nlohmann::json::array();
  for (const nlohmann::json &rule : base)
    if (std::none_of(own.begin(), own.end(), [&](const nlohmann::json &other) {
          return other["op"] == rule["op"] && other["match"] == rule["match"];
        }))
      rules.push_back(rule);
  rules.insert(rules.end(), own.begin(), own.end());
  return rules;
}

} // namespace

const Data &Data::get() {
  static const Data data = [] {
    const fs::path root = WRIT_SOURCE_DIR;
    Data read;
    read.vocabulary = nlohmann::json::parse(std::ifstream(root / "contracts/vocabulary.json"));
    read.functions = nlohmann::json::parse(std::ifstream(root / "contracts/functions.json"));
    read.profiles = readFolders(root / "contracts/profiles");
    for (auto &[id, profile] : read.profiles)
      if (profile.contains("extends"))
        profile["rules"] =
            extendedRules(read.profiles.at(profile["extends"])["rules"], profile["rules"]);
    for (const auto &[family, ignored] : read.vocabulary["families"].items())
      read.contracts.merge(readFolders(root / "contracts" / family));
    read.kernelMaps = readFolders(root / "kernel_maps");
    return read;
  }();
  return data;
}

std::set<std::string> Data::weightStorages() const {
  std::set<std::string> storages;
  for (const auto &[id, map] : kernelMaps)
    if (map["op"] == "linear")
      storages.insert(map["operands"]["weight"]["storage"].get<std::string>());
  return storages;
}

Buffer::Buffer(size_t bytes) : size(bytes), memory(bytes + kGuard + 64, kGuardByte) {
  std::fill_n(base(), size, std::byte{0});
}

std::byte *Buffer::base() {
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (64 - address % 64) % 64;
}

void Buffer::poison() {
  std::fill_n(base(), size, kPoisonByte);
}

bool Buffer::guardIsIntact() const {
  const std::byte *start = const_cast<Buffer *>(this)->base();
  return std::all_of(memory.data(), start, [](std::byte b) { return b == kGuardByte; }) &&
         std::all_of(start + size, memory.data() + memory.size(),
                     [](std::byte b) { return b == kGuardByte; });
}

const char *nameOf(Fill fill) {
  constexpr const char *names[] = {"plain", "cancelling", "spread",      "equal",
                                   "tiny",  "dominating", "alternating", "special"};
  return names[static_cast<int>(fill)];
}

uint64_t Random::bits() { // SplitMix64 (Steele, Lea, Flood 2014)
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53;
}

float Random::value(Fill fill, int64_t index) {
  const auto plain = static_cast<float>(uniform(-1, 1) + uniform(-1, 1) + uniform(-1, 1));
  switch (fill) {
  case Fill::plain:
    return plain;
  case Fill::cancelling: // pairs that differ in their last bits
    last = index % 2 ? -last * static_cast<float>(1 + uniform(-4, 4) * 0x1p-23) : plain * 64;
    return last;
  case Fill::spread:
    return std::ldexp(plain, static_cast<int>(below(41)) - 20);
  case Fill::equal:
    return 0.7f;
  case Fill::tiny:
    return std::ldexp(plain, -120 - static_cast<int>(below(30)));
  case Fill::dominating:
    return below(29) == 0 ? plain * 1024 : plain;
  case Fill::alternating:
    return (index % 2 ? -1.0f : 1.0f) * (1 + plain * 0x1p-6f);
  case Fill::special:
    break;
  }
  constexpr float largest = std::numeric_limits<float>::max();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  constexpr float values[] = {std::numeric_limits<float>::quiet_NaN(),
                              infinite,
                              -infinite,
                              -0.0f,
                              largest,
                              -largest,
                              0x1p-149f,
                              0x1p-126f};
  // Rare enough that some rows stay free of NaN.
  return below(40) == 0 ? values[below(8)] : plain;
}

void fillCodes(std::span<std::byte> bytes, const std::string &storage, int64_t columns, Fill fill,
               Random &random) {
  const int64_t stride = reference::rowBytes(storage, columns);
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee}); // the padding is nobody's
  for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(stride)) {
    reference::ActivationRow row(storage, bytes.data() + at, columns);
    const int64_t elements = row.blockElements(), summed = row.sumElements();
    for (int64_t block = 0; block < columns / elements; ++block) {
      float scale = std::fabs(random.value(fill, block));
      if (row.hasHalfScale()) // it and the sum of the values stay in binary16's range
        scale *= fill == Fill::spread ? 0x1p-20f : fill == Fill::cancelling ? 0x1p-8f : 1.0f;
      const bool noCodes = !std::isfinite(scale);
      const int64_t extreme = random.below(8); // all of one sign, of mixed signs, or any codes
      for (int64_t i = block * elements; i < (block + 1) * elements; ++i) {
        auto code = static_cast<int8_t>(random.below(255) - 127);
        if (extreme < 2)
          code = extreme ? 127 : -127;
        else if (extreme == 2)
          code = random.below(2) ? 127 : -127;
        if (fill == Fill::equal)
          code = 127;
        if (noCodes)
          code = 0;
        row.setCode(i, code);
      }
      scale = noCodes ? std::numeric_limits<float>::quiet_NaN() : scale;
      row.setScale(block, scale);
      if (row.hasValueSum()) {
        int32_t sum = 0;
        for (int64_t i = block * elements; i < (block + 1) * elements; ++i)
          sum += row.code(i);
        row.setValueSum(block, scale * static_cast<float>(sum));
      }
    }
    for (int64_t run = 0; run < (summed ? columns / summed : 0); ++run) {
      int32_t sum = 0;
      for (int64_t i = run * summed; i < (run + 1) * summed; ++i)
        sum += row.code(i);
      row.setSum(run, sum);
    }
  }
}

void fill(std::span<std::byte> bytes, const std::string &storage, int64_t columns, Fill fill,
          Random &random) {
  if (storage.starts_with("i8_") || storage == "q8_1" || storage == "q8_k")
    return fillCodes(bytes, storage, columns, fill, random);
  if (storage.starts_with("q"))
    return fillBlocks(bytes, storage, fill, random);
  const auto element = static_cast<size_t>(reference::rowBytes(storage, 1));
  for (size_t i = 0; i < bytes.size() / element; ++i) {
    float value = random.value(fill, static_cast<int64_t>(i));
    if (storage == "f16" && fill == Fill::spread)
      value *= 0x1p-8f; // stays in binary16's range
    if (storage == "bf16")
      putHalf(bytes.data() + 2 * i, static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
    else
      reference::writeScalar(storage, bytes.data(), static_cast<int64_t>(i), value);
  }
}

float floatAt(std::span<const std::byte> bytes, int64_t index) {
  float value;
  std::memcpy(&value, bytes.data() + index * 4, 4);
  return value;
}

bool sameFloat(float a, float b) {
  return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

} // namespace writ::test
