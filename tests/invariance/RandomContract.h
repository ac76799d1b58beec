//===- RandomContract.h - contracts drawn from the vocabulary -------------===//
#pragma once

#include "tests/conformance/Data.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace writ::test {

/// A registered contract with other words in some fields.
struct DrawnContract {
  nlohmann::json json;
  std::string changes; ///< "linear_f32_v0 with reduction=implementation_defined", for messages
};

/// Sets a field ("partition.kind", "operands.q.storage") of a contract.
void setField(nlohmann::json &contract, const std::string &field, const nlohmann::json &value);
/// Whether the contract has the field.
bool hasField(const nlohmann::json &contract, const std::string &field);

/// Where a contract splits its keys, in sizes that a short history crosses; else nothing changes.
void shrinkPartition(nlohmann::json &contract);

/// One contract of the family, with 0 to 3 fields that hold another word of their list; every other
/// one has a word that leaves something open.
DrawnContract drawContract(const std::string &family, const nlohmann::json &vocabulary,
                           Random &random);

/// Reductions that no registered contract has, of every order, as words of the vocabulary.
nlohmann::ordered_json drawReductions(const nlohmann::json &vocabulary, Random &random);

} // namespace writ::test
