//===- InvarianceRules.h - what each word of a contract lets decide -------===//
//
// contracts/invariance.json in memory. A word is neutral, or it breaks dimensions: then something
// beside the operands (the number of workers, the rows of a step, the processor ...) may decide
// over bits. Every word has its rule, so that nothing is guessed where one is added.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Support/Json.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace writ {

/// What a contract can be invariant under, and the obligations that test it.
struct InvarianceDimension {
  std::string name, meaning;
  std::vector<std::string> obligations;
};

/// One reason why a word breaks dimensions.
struct InvarianceCause {
  std::vector<std::string> breaks; ///< names of dimensions
  std::string because;
  /// It holds where `variable` is at least the number in the contract's `field`; empty: always.
  std::string variable, field;
};

/// The words of one list of the vocabulary.
struct InvarianceList {
  std::string why;                                           ///< of the neutral words
  std::map<std::string, std::vector<InvarianceCause>> words; ///< without a cause: neutral
};

struct InvarianceRules {
  std::vector<InvarianceDimension> dimensions; ///< in the order of the file
  InvarianceCause scheduling;                  ///< of a kernel whose scheduling alters order
  std::set<std::string> notArithmetic;         ///< members of a contract that decide no bit
  std::map<std::string, std::string> numbers;  ///< kinds of fixed numbers, and why they are neutral
  std::map<std::string, InvarianceList> lists; ///< by the vocabulary's names
  std::set<std::string> partLists;             ///< whose words are parts of other words
  std::string digest;

  bool hasDimension(const std::string &name) const;
  std::vector<std::string> dimensionNames() const;
  /// The causes of a word (none: neutral), or null where it has no rule.
  const std::vector<InvarianceCause> *find(const std::string &list, const std::string &word) const;
};

/// Reads rules that their schema has accepted, and holds them against the vocabulary: E304 for what
/// has no rule, E305 for a rule that contradicts the vocabulary. `functions` is functions.json.
InvarianceRules readInvarianceRules(const Json &rules, const Json &vocabulary,
                                    const Json &functions, std::vector<Diagnostic> &found);

} // namespace writ
