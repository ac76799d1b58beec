//===- Match.cpp - which contract an output keeps -------------------------===//
#include "tests/conformance/Match.h"

#include "ir/Reference/Storage.h"
#include "tests/conformance/Data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

namespace writ::test {
namespace {

bool isScalar(const std::string &storage) {
  return storage == "f32" || storage == "f16" || storage == "bf16";
}

/// Whether the op of `call` could have this contract: the reference refuses what it could not.
bool fits(const reference::Call &call, const nlohmann::json &contract) {
  const nlohmann::json &own = *call.contract;
  if (contract.at("family") != own.at("family") || contract.at("operands") != own.at("operands"))
    return false;
  return std::all_of(call.attributes.begin(), call.attributes.end(), [&](const auto &attribute) {
    // A contract that does not state an attribute was chosen by it, or has nothing to do with it.
    return contract.value(attribute.first, attribute.second) == attribute.second;
  });
}

std::optional<Likeness> compareWith(reference::Call call, const nlohmann::json &contract,
                                    const std::string &output, std::span<const std::byte> found) {
  reference::Operand &operand = call.operands.at(output);
  std::vector<std::byte> made(operand.bytes.size());
  operand.bytes = made;
  call.contract = &contract;
  try {
    reference::findReference("reference_" + contract.at("family").get<std::string>())(call);
  } catch (const reference::ReferenceError &) {
    return std::nullopt; // it takes a number, a window or workers that the call does not have
  }
  Likeness likeness{contract.at("id"), 0, 0, 0};
  likeness.elements = static_cast<int64_t>(found.size()) / reference::rowBytes(operand.storage, 1);
  for (int64_t i = 0; i < likeness.elements; ++i) {
    const float a = reference::readScalar(operand.storage, found.data(), i);
    const float b = reference::readScalar(operand.storage, made.data(), i);
    if (sameFloat(a, b))
      continue;
    ++likeness.differing;
    if (const double difference = std::fabs(double(a) - double(b)); difference > likeness.largest)
      likeness.largest = difference;
  }
  return likeness;
}

std::string shortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", value);
  return text;
}

} // namespace

std::vector<Likeness> likenesses(const reference::Call &call,
                                 const std::map<std::string, nlohmann::json> &contracts,
                                 const std::string &output, std::span<const std::byte> found) {
  std::vector<Likeness> all;
  const reference::Operand &operand = call.operands.at(output);
  if (!isScalar(operand.storage) || operand.bytes.size() != found.size() ||
      call.contract->at("family") == "kv_store")
    return all;
  for (const auto &[id, contract] : contracts)
    if (fits(call, contract))
      if (const auto likeness = compareWith(call, contract, output, found))
        all.push_back(*likeness);
  std::sort(all.begin(), all.end(), [](const Likeness &a, const Likeness &b) {
    return std::pair(a.differing, a.largest) < std::pair(b.differing, b.largest);
  });
  return all;
}

std::string describeMismatch(const reference::Call &call,
                             const std::map<std::string, nlohmann::json> &contracts,
                             const std::string &output, std::span<const std::byte> found) {
  const std::vector<Likeness> all = likenesses(call, contracts, output, found);
  const std::string own = call.contract->at("id");
  const auto self = std::find_if(
      all.begin(), all.end(), [&](const Likeness &likeness) { return likeness.contract == own; });
  if (self == all.end() || self->differing == 0)
    return "";
  const std::string distance = std::to_string(self->differing) + " of " +
                               std::to_string(self->elements) + " elements differ from '" + own +
                               "', by up to " + shortNumber(self->largest);
  if (all.front().differing > 0)
    return "output '" + output + "' matches no registered contract; " + distance;
  return "output '" + output + "' matches contract '" + all.front().contract + "', not '" + own +
         "'; " + distance;
}

} // namespace writ::test
