//===- Data.cpp - the data files, buffers, random numbers -----------------===//
#include "tests/conformance/Data.h"

#include "tests/conformance/Compare.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace writ::test {
namespace {

namespace fs = std::filesystem;
constexpr size_t kGuard = 256;
constexpr std::byte kGuardByte{0x5c};

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

/// The contract of a fusion: those of its parts, and the operands that leave it. Written anew, so
/// that it says what the compiler's should be.
nlohmann::json compose(const Data &data, const std::string &family, const std::string &id) {
  const nlohmann::json &fusion = data.vocabulary["families"][family];
  nlohmann::json contract = {{"schema", "writ.contract.v1"}, {"id", id}, {"family", family}};
  std::istringstream ids(id);
  std::string part;
  for (size_t i = 0; std::getline(ids, part, '+'); ++i) {
    contract["parts"].push_back(data.contracts.at(part));
    for (const auto &[operand, stated] : data.contracts.at(part)["operands"].items()) {
      const std::string name = fusion["parts"][i]["as"].value(operand, operand);
      if (!fusion["inner"].contains(name))
        contract["operands"][name] = stated;
    }
  }
  return contract;
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

const nlohmann::json &Data::contract(const std::string &id) const {
  const auto own = contracts.find(id);
  return own == contracts.end() ? composed.at(id) : own->second;
}

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
    for (const auto &[family, rules] : read.vocabulary["families"].items())
      if (!rules.contains("parts")) // no file states the contract of a fusion
        read.contracts.merge(readFolders(root / "contracts" / family));
    read.kernelMaps = readFolders(root / "kernel_maps");
    for (const auto &[id, map] : read.kernelMaps)
      for (const std::string contract : map["contracts"])
        if (!read.contracts.contains(contract))
          read.composed[contract] = compose(read, map["op"], contract);
    return read;
  }();
  return data;
}

std::vector<std::string> Data::contractsOf(const std::string &family) const {
  std::vector<std::string> ids;
  for (const auto &[id, contract] : contracts)
    if (contract["family"] == family)
      ids.push_back(id);
  return ids;
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
  std::fill_n(base(), size, kPoison);
}

bool Buffer::guardIsIntact() const {
  const std::byte *start = const_cast<Buffer *>(this)->base();
  return std::all_of(memory.data(), start, [](std::byte b) { return b == kGuardByte; }) &&
         std::all_of(start + size, memory.data() + memory.size(),
                     [](std::byte b) { return b == kGuardByte; });
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

float floatAt(std::span<const std::byte> bytes, int64_t index) {
  float value;
  std::memcpy(&value, bytes.data() + index * 4, 4);
  return value;
}

bool sameFloat(float a, float b) {
  return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

} // namespace writ::test
