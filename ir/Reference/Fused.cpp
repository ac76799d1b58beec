//===- Fused.cpp - a fusion: its parts, one after the other ---------------===//
//
// What a fused op computes is what its parts compute, so nothing is evaluated here: each part is
// called by its own entry, with the names that the vocabulary gives it, and the values between them
// are rows of this call's own.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Entries.h"
#include "ir/Reference/Operands.h"
#include "ir/Reference/Storage.h"

namespace writ::reference {
namespace {

const nlohmann::json &field(const nlohmann::json &object, const std::string &name) {
  const auto found = object.find(name);
  if (found == object.end())
    throw ReferenceError("'" + name + "' is missing, of a fusion or its contract");
  return *found;
}

/// The values of `from` that a part has, by the part's own names.
template <typename Value>
std::map<std::string, Value> ofPart(const nlohmann::json &names, const nlohmann::json &part,
                                    const std::map<std::string, Value> &from) {
  std::map<std::string, Value> own;
  for (std::string name : names) {
    if (const std::string optional = "optional "; name.starts_with(optional))
      name.erase(0, optional.size());
    if (const auto found = from.find(field(part, "as").value(name, name)); found != from.end())
      own[name] = found->second;
  }
  return own;
}

nlohmann::json keysOf(const nlohmann::json &object) {
  nlohmann::json keys = nlohmann::json::array();
  for (const auto &[key, value] : object.items())
    keys.push_back(key);
  return keys;
}

} // namespace

void evaluateFused(Call &call) {
  const nlohmann::json &families = field(*call.vocabulary, "families");
  const nlohmann::json &fusion = field(families, field(*call.contract, "family"));
  const nlohmann::json &parts = field(fusion, "parts"), &contracts = field(*call.contract, "parts");
  if (parts.size() != contracts.size())
    throw ReferenceError("the contract of a fusion has as many parts as the fusion");
  std::map<std::string, Operand> operands = call.operands;
  std::map<std::string, std::vector<std::byte>> inner;
  for (size_t i = 0; i < parts.size(); ++i) {
    const nlohmann::json &part = parts[i], &family = field(families, field(part, "family"));
    for (const auto &[operand, kind] : field(family, "operands").items()) {
      const std::string name = field(part, "as").value(operand, operand);
      if (inner.contains(name) || !field(fusion, "inner").contains(name))
        continue;
      int64_t width = 1;
      for (const std::string dimensionName : field(fusion, "inner")[name])
        width *= dimension(call, dimensionName.c_str());
      const int64_t rows = dimension(call, "rows");
      const std::string storage = field(field(contracts[i], "operands"), operand)["storage"];
      std::vector<std::byte> &bytes = inner[name];
      bytes.resize(static_cast<size_t>(rows * rowBytes(storage, width)));
      operands[name] = {storage, {rows, width}, bytes};
    }
    Call one = call;
    one.contract = &contracts[i];
    one.operands = ofPart(keysOf(field(family, "operands")), part, operands);
    one.dimensions = ofPart(field(family, "dimensions"), part, call.dimensions);
    one.attributes = ofPart(field(family, "attributes"), part, call.attributes);
    one.numbers = ofPart(field(family, "numbers"), part, call.numbers);
    const std::string name = "reference_" + field(part, "family").get<std::string>();
    const Entry entry = findReference(name);
    if (!entry)
      throw ReferenceError("there is no entry '" + name + "' for a part of a fusion");
    entry(one);
  }
}

} // namespace writ::reference
