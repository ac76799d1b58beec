//===- Match.h - which contract an output keeps ---------------------------===//
//
// A kernel that keeps another contract than its own may differ from it by less than any tolerance
// that a person would choose. So what differs is compared with every registered contract that the
// same call could have, and the one that it keeps is named.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Reference.h"

#include <string>
#include <vector>

namespace writ::test {

/// An output beside what a contract gives for the same call.
struct Likeness {
  std::string contract;
  int64_t elements = 0, differing = 0;
  double largest = 0; ///< difference, of elements that are numbers on both sides
};

/// `found` beside every contract of the call's family that takes its operands and attributes, the
/// likest first: fewest elements that differ, then the smallest difference. `call` is left as it
/// is. Outputs of scalars only; empty for a family that writes the KV state.
std::vector<Likeness> likenesses(const reference::Call &call,
                                 const std::map<std::string, nlohmann::json> &contracts,
                                 const std::string &output, std::span<const std::byte> found);

/// Says which contract an output that is not bit for bit that of the call's contract keeps instead,
/// or that it keeps none, and how far it is from its own.
std::string describeMismatch(const reference::Call &call,
                             const std::map<std::string, nlohmann::json> &contracts,
                             const std::string &output, std::span<const std::byte> found);

} // namespace writ::test
