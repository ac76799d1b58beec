//===- EditedTree.h - data folders whose JSON a test changes by value -----===//
#pragma once

#include "tests/diagnostics/DataTree.h"

#include <nlohmann/json.hpp>

namespace writ::test {

inline const char *const kVocabulary = "contracts/vocabulary.json";
inline const char *const kInvariance = "contracts/invariance.json";

/// A DataTree that is edited as JSON values; the order of the members is kept.
class EditedTree : public DataTree {
public:
  using Value = nlohmann::ordered_json;

  template <typename Change> void edit(const std::string &file, Change change) const {
    Value json = Value::parse(read(file));
    change(json);
    write(file, json.dump(1));
  }

  /// Declares a word that is not portable.
  void addWord(const std::string &list, const std::string &word, const Value &variesWith,
               Value members = Value::object()) const {
    members["meaning"] = "a word of a test";
    members["portable"] = false;
    members["varies_with"] = variesWith;
    edit(kVocabulary, [&](Value &json) { json["words"][list][word] = members; });
  }
  void addRule(const std::string &list, const std::string &word, const Value &dimensions) const {
    edit(kInvariance, [&](Value &json) {
      json["words"][list]["breaks"][word] = {{"dimensions", dimensions}, {"because", "it is so"}};
    });
  }
};

} // namespace writ::test
