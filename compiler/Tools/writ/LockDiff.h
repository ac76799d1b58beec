//===- LockDiff.h - what differs between two locks ------------------------===//
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace writ::tool {

/// A value that is another one, or absent on one side (null there).
struct LockChange {
  std::vector<std::string> path; ///< {"contracts", ID}, {"resolutions", OP, PHASE, "provider"}
  nlohmann::json a, b;
};

/// Every difference, in the order in which a reader asks: model, profile and circuit, contracts,
/// providers, ops, weights, files, the rest. A null is as good as nothing.
std::vector<LockChange> lockChanges(const nlohmann::json &a, const nlohmann::json &b);

/// The place in words: "model sha256", "contract ID", "file src/calls.cpp".
std::string wordsOf(const std::vector<std::string> &path);
/// A digest by its first digits, a text in quotes.
std::string wordsOf(const nlohmann::json &value);

} // namespace writ::tool
