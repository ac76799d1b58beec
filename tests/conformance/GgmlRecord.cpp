//===- GgmlRecord.cpp - what ggml answered, beside what the reference does -===//
#include "tests/conformance/GgmlRecord.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

namespace writ::test {
namespace {

/// The distance of a binary32 to the next one of larger magnitude.
double ulpOf(double value) {
  const int exponent = value == 0 ? -126 : std::max(-126, std::ilogb(value));
  return std::ldexp(1.0, exponent - 23);
}

void compareValue(GgmlDistance &distance, float mine, float theirs) {
  ++distance.values;
  if (sameFloat(mine, theirs))
    distance.squaredValue += std::isfinite(theirs) ? double(theirs) * theirs : 0;
  if (sameFloat(mine, theirs))
    return;
  ++distance.different;
  const double error = std::fabs(double(mine) - theirs);
  if (!std::isfinite(mine) || !std::isfinite(theirs)) {
    distance.worstUlp = distance.worstAbs = std::numeric_limits<double>::infinity();
    return;
  }
  distance.worstUlp = std::max(distance.worstUlp, error / ulpOf(theirs));
  distance.worstAbs = std::max(distance.worstAbs, error);
  distance.squaredError += error * error;
  distance.squaredValue += double(theirs) * theirs;
}

} // namespace

std::string hexOf(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += digits[std::to_integer<int>(byte >> 4)];
    hex += digits[std::to_integer<int>(byte & std::byte{15})];
  }
  return hex;
}

std::vector<std::byte> bytesOf(const std::string &hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

const nlohmann::json &ggmlRecord() {
  static const nlohmann::json record =
      nlohmann::json::parse(std::ifstream(WRIT_SOURCE_DIR "/tests/data/ggml/ops.json"));
  return record;
}

GgmlDistance compareWithRecord(const GgmlCase &one, const nlohmann::json &record) {
  const nlohmann::json *found = nullptr;
  for (const nlohmann::json &candidate : record.at("cases"))
    if (candidate.at("name") == one.name)
      found = &candidate;
  if (!found || found->at("contract") != one.contract)
    throw std::runtime_error("the record has no case '" + one.name + "'");
  const std::vector<std::byte> theirs = bytesOf(found->at("output"));
  const std::vector<std::byte> mine = canonical(one.evaluate(), one.storage, one.width);
  if (mine.size() != theirs.size())
    throw std::runtime_error("case '" + one.name + "' is recorded with another size");
  GgmlDistance distance;
  if (one.storage == "f32" || one.storage == "f16") {
    const auto count = static_cast<int64_t>(mine.size()) / reference::rowBytes(one.storage, 1);
    for (int64_t i = 0; i < count; ++i) {
      const float value = reference::readScalar(one.storage, mine.data(), i);
      const float other = reference::readScalar(one.storage, theirs.data(), i);
      compareValue(distance, value, other);
      if (one.tolerance && !sameFloat(value, other)) {
        const double part =
            std::fabs(double(value) - other) / one.tolerance(static_cast<size_t>(i), value);
        distance.worstOfTolerance =
            std::max(distance.worstOfTolerance,
                     std::isnan(part) ? std::numeric_limits<double>::infinity() : part);
      }
    }
    return distance;
  }
  for (size_t i = 0; i < mine.size(); ++i) {
    ++distance.values;
    distance.different += mine[i] != theirs[i];
  }
  return distance;
}

} // namespace writ::test
