//===- ReadableContracts.cpp - contracts that can be evaluated ------------===//
#include "compiler/Resolve/ReadCatalog.h"

#include "ir/Reference/Bound.h"

namespace writ {
namespace {

/// The deepest part of `path` that the contract has.
const Json &placeOf(const Json &contract, std::string path) {
  for (;;) {
    if (const Json *found = findField(contract, path))
      return *found;
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos)
      return contract;
    path.resize(dot);
  }
}

} // namespace

void checkReadable(const Catalog &catalog, const Json &functions, std::vector<Diagnostic> &found) {
  const nlohmann::json words = catalog.vocabulary().plain(), steps = functions.plain();
  for (const auto &[id, contract] : catalog.contracts()) {
    if (!contract.parts.empty()) // of a fusion, whose parts are contracts of their own
      continue;
    try {
      const nlohmann::json plain = contract.json.plain();
      reference::readContract(plain, words, steps);
      reference::checkBound(plain);
    } catch (const reference::ContractError &error) {
      found.push_back({placeOf(contract.json, error.field()).location(),
                       "E301",
                       "contract '" + id + "' cannot be evaluated: " + error.fault(),
                       {}});
    }
  }
}

} // namespace writ
