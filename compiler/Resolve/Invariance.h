//===- Invariance.h - what cannot change a contract's bits ----------------===//
//
// A contract is invariant under a dimension (threads, batch, ...) where none of its fields breaks
// it. That is derived from the fields by the rules of contracts/invariance.json, never typed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Resolve/Resolver.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace writ {

/// What one field of a contract says; a field with several causes has an entry for each.
struct FieldInvariance {
  std::string field;               ///< "partition.kind", "operands.q.storage"
  std::string value;               ///< its word, or its number as text
  std::vector<std::string> breaks; ///< names of dimensions; empty: neutral
  std::string because;
  std::string variable;        ///< it breaks them where this is at least `from`; empty: always
  std::optional<int64_t> from; ///< "kv_len" and 512, for instance
  Location location;           ///< of the value in the contract

  bool breaksDimension(const std::string &dimension) const;
  /// "kv_len >= 512", or "" where it always holds.
  std::string condition() const;
};

struct ContractInvariance {
  std::vector<FieldInvariance> fields; ///< operands, then the order of contract_fields

  /// Whether nothing breaks the dimension, under no condition.
  bool holds(const std::string &dimension) const;
  std::vector<const FieldInvariance *> against(const std::string &dimension) const;
};

/// E304 where a field has no rule: no guess is made.
ContractInvariance deriveInvariance(const Catalog &catalog, const Contract &contract);

/// E051 where one of `names` (of --require) is not a dimension.
void checkDimensionNames(const Catalog &catalog, const std::vector<std::string> &names);

/// E104 for each op, once for a place of the circuit, whose contract does not derive all of
/// `required`; notes name the fields that break it.
void requireInvariance(const Catalog &catalog, const std::vector<Requirement> &requirements,
                       const std::vector<std::string> &required);

} // namespace writ
