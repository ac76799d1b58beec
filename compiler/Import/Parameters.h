//===- Parameters.h - a circuit's parameters for one model file (private) -===//
#pragma once

#include "compiler/Import/ModelFile.h"
#include "compiler/Support/Expression.h"

#include <map>
#include <set>
#include <string>

namespace writ {

/// Values of the circuit's parameters, by name, and which of them were asked for: a parameter that
/// nothing uses is an error in the circuit.
class Parameters {
public:
  /// Reads every parameter from the metadata, its default, or a tensor's shape, in the circuit's
  /// order (a default may use those before it), and checks the rules. E032 missing key, E033 out of
  /// range or of the wrong kind, E034 a rule does not hold.
  Parameters(const Json &circuit, const ModelFile &model);

  int64_t integer(const Json &expression) const;
  double number(const Json &expression) const;
  /// Whether the expression is not zero.
  bool holds(const Json &expression) const;

  void setLayer(int64_t index) { layer = index; }
  /// The words of the layer's variant, by name; those of no variant at first.
  void setWords(std::map<std::string, std::string> values) { words = std::move(values); }
  /// The text with "{layer}" and each "{word}" replaced. E030 where there is no such word.
  std::string expand(const Json &text) const;
  /// Words that a text has named.
  const std::set<std::string> &usedWords() const { return wordsUsed; }

  const std::map<std::string, Value> &values() const { return table; }
  /// E035 for the first parameter that no expression has used.
  void requireAllUsed(const Json &circuit) const;
  /// Keys of the metadata that a parameter names, found or not.
  const std::set<std::string> &keys() const { return readKeys; }
  /// A key that is read beside the parameters.
  void consume(const std::string &key) { readKeys.insert(key); }

private:
  NameLookup lookup() const;
  Value read(const Json &name, const std::string &key, const Json &rule, const ModelFile &model);

  std::map<std::string, Value> table;
  std::set<std::string> readKeys;
  std::map<std::string, std::string> words;
  mutable std::set<std::string> used, wordsUsed;
  int64_t layer = -1;
};

/// Every key in the circuit's scope is consumed by a parameter, fixed to a value, or carries no
/// mathematics (E031 otherwise, by name); fixed keys have their value (E034).
void checkMetadata(const Json &circuit, const ModelFile &model, const Parameters &parameters);

} // namespace writ
