//===- LockDiff.cpp - what differs between two locks ----------------------===//
#include "compiler/Tools/writ/LockDiff.h"

#include "compiler/Support/Digest.h"
#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace writ::tool {
namespace {

using Json = nlohmann::json;

void compare(const Json &a, const Json &b, std::vector<std::string> &path,
             std::vector<LockChange> &changes) {
  if (a == b)
    return;
  if (!a.is_object() || !b.is_object()) {
    changes.push_back({path, a, b});
    return;
  }
  std::set<std::string> keys;
  for (const Json *side : {&a, &b})
    for (const auto &[key, value] : side->items())
      keys.insert(key);
  for (const std::string &key : keys) {
    path.push_back(key);
    compare(a.value(key, Json()), b.value(key, Json()), path, changes);
    path.pop_back();
  }
}

/// Sections in the order of reading; one that is not here comes last.
size_t rankOf(const LockChange &change) {
  static constexpr const char *order[] = {
      "model",     "profile",     "circuit", "target",    "least_isa", "production", "contracts",
      "providers", "resolutions", "weights", "tokenizer", "chat",      "files"};
  return size_t(std::find(std::begin(order), std::end(order), change.path.front()) -
                std::begin(order));
}

} // namespace

std::vector<LockChange> lockChanges(const Json &a, const Json &b) {
  std::vector<LockChange> changes;
  std::vector<std::string> path;
  compare(a, b, path, changes);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const LockChange &x, const LockChange &y) { return rankOf(x) < rankOf(y); });
  return changes;
}

std::string wordsOf(const std::vector<std::string> &path) {
  static constexpr std::pair<const char *, const char *> one[] = {{"contracts", "contract"},
                                                                  {"providers", "provider"},
                                                                  {"resolutions", "op"},
                                                                  {"files", "file"}};
  std::vector<std::string> words;
  for (const std::string &word : path)
    words.push_back(printable(word));
  for (const auto &[section, singular] : one)
    if (path.size() > 1 && path.front() == section)
      words.front() = singular;
  return fmt::format("{}", fmt::join(words, " "));
}

std::string wordsOf(const Json &value) {
  if (!value.is_string())
    return value.dump();
  const std::string &text = value.get_ref<const std::string &>();
  return isSha256(text) ? shortSha256(text) : "'" + printable(text) + "'";
}

} // namespace writ::tool
