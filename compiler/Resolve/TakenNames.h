//===- TakenNames.h - what the words of a contract need beside them -------===//
//
// A word of the vocabulary may take fields of the contract ("takes"), optional operands and
// optional numbers of the op: tiles have a size, a soft-cap has its cap. Who takes what is said by
// the vocabulary alone. What some word of a family can take is there exactly where one does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Resolve/Catalog.h"

namespace writ {

struct TakenNames {
  /// A word that takes something: of a field, or of a list where no contract is at hand.
  struct Taker {
    std::string list, word;
    Location location;
  };
  using Takers = std::map<std::string, std::vector<Taker>>; ///< by what is taken
  Takers fields, operands, numbers;
};

/// What the words of this contract take.
TakenNames takenBy(const Catalog &catalog, const Contract &contract);
/// What any word that a contract of the family may have takes.
TakenNames takenInFamily(const Catalog &catalog, const std::string &family);

/// E301: a word that takes what no family has; a contract that lacks what a word takes, or has what
/// none takes.
void checkTakenNames(const Catalog &catalog, std::vector<Diagnostic> &found);

/// "'fp32_two_pass' of 'rescale'"
std::string describe(const TakenNames::Taker &taker);

} // namespace writ
