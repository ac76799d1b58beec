//===- Contracts.cpp - `writ contracts` -----------------------------------===//
//
// What each contract is invariant under, derived from its fields; of one contract, field by field.
//
//===----------------------------------------------------------------------===//
#include "compiler/Resolve/Invariance.h"
#include "compiler/Support/EditDistance.h"
#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/Install.h"
#include "compiler/Tools/writ/Output.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace writ::tool {
namespace {

struct Derived {
  const Contract *contract;
  ContractInvariance invariance;
};

/// "yes", "no", or the condition under which it holds.
std::string answer(const ContractInvariance &invariance, const std::string &dimension) {
  std::string text = "yes";
  for (const FieldInvariance *field : invariance.against(dimension)) {
    if (!field->from)
      return "no";
    text = fmt::format("{} < {}", field->variable, *field->from);
  }
  return text;
}

std::string reason(const FieldInvariance &field) {
  if (field.breaks.empty())
    return "neutral: " + field.because;
  return fmt::format("breaks {}{}: {}", fmt::join(field.breaks, ", "),
                     field.from ? " where " + field.condition() : "", field.because);
}

void printRow(const std::vector<std::string> &cells, const std::vector<size_t> &widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line += i + 1 == cells.size() ? cells[i] : fmt::format("{:<{}}  ", cells[i], widths[i]);
  printLine(line);
}

void printTable(const std::vector<Derived> &all, const std::vector<std::string> &dimensions) {
  std::vector<std::vector<std::string>> rows = {{"contract", "family"}};
  rows[0].insert(rows[0].end(), dimensions.begin(), dimensions.end());
  for (const Derived &derived : all) {
    std::vector<std::string> &row =
        rows.emplace_back(std::vector{derived.contract->id, derived.contract->family});
    for (const std::string &dimension : dimensions)
      row.push_back(answer(derived.invariance, dimension));
  }
  std::vector<size_t> widths(rows[0].size());
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const std::vector<std::string> &row : rows)
    printRow(row, widths);
  for (const Derived &derived : all)
    for (const FieldInvariance &field : derived.invariance.fields)
      if (!field.breaks.empty())
        printLine(fmt::format("{}: {} is '{}', which {}", derived.contract->id, field.field,
                              field.value, reason(field)));
}

void printWhole(const Derived &derived, const std::vector<std::string> &dimensions) {
  const Contract &contract = *derived.contract;
  if (contract.parts.empty())
    printLine(fmt::format("{}, '{}' at contracts/{}/{}.json:{}", contract.id, contract.family,
                          contract.family, contract.id, contract.json.at("id").location().line));
  else
    printLine(fmt::format("{}, '{}': one after the other", contract.id, contract.family));
  for (const std::string &dimension : dimensions)
    printLine(fmt::format("  {:<10} {}", dimension, answer(derived.invariance, dimension)));
  std::vector<size_t> widths = {0, 0, 0};
  for (const FieldInvariance &field : derived.invariance.fields) {
    widths[0] = std::max(widths[0], field.field.size() + 2);
    widths[1] = std::max(widths[1], field.value.size());
  }
  printLine("because");
  for (const FieldInvariance &field : derived.invariance.fields)
    printRow({"  " + field.field, field.value, reason(field)}, widths);
}

nlohmann::ordered_json contractJson(const Derived &derived,
                                    const std::vector<std::string> &dimensions) {
  nlohmann::ordered_json json = {{"id", derived.contract->id},
                                 {"family", derived.contract->family},
                                 {"sha256", derived.contract->digest}};
  for (const std::string &dimension : dimensions)
    json["invariance"][dimension] = derived.invariance.holds(dimension);
  json["fields"] = nlohmann::ordered_json::array();
  for (const FieldInvariance &field : derived.invariance.fields) {
    nlohmann::ordered_json &entry = json["fields"].emplace_back(nlohmann::ordered_json{
        {"field", field.field}, {"value", field.value}, {"breaks", field.breaks}});
    if (field.from)
      entry["from"] = {{"variable", field.variable}, {"value", *field.from}};
    entry["because"] = field.because;
  }
  return json;
}

/// The contracts that are asked for, by family and id.
std::vector<Derived> chosen(const Catalog &catalog, const std::string &id) {
  std::vector<Derived> all;
  std::vector<std::string> known;
  for (const auto &[name, contract] : catalog.contracts()) {
    known.push_back(name);
    if (id.empty() ? contract.parts.empty() : id == name) // the list is of what has a file
      all.push_back({&contract, deriveInvariance(catalog, contract)});
  }
  if (all.empty()) {
    const std::vector<std::string> nearest = nearestNames(id, known);
    throw Error({catalog.paths().contracts}, "E051", fmt::format("there is no contract '{}'", id),
                {{{},
                  nearest.empty() ? "`writ contracts` lists the contracts"
                                  : "nearest: " + quotedList(nearest)}});
  }
  std::stable_sort(all.begin(), all.end(), [](const Derived &a, const Derived &b) {
    return a.contract->family < b.contract->family;
  });
  return all;
}

} // namespace

int runContracts(const ContractsCommand &command) {
  const Catalog catalog = Catalog::load(dataPaths(command.data), linkedFunctions());
  const std::vector<std::string> dimensions = catalog.invariance().dimensionNames();
  const std::vector<Derived> all = chosen(catalog, command.id);
  if (command.json) {
    nlohmann::ordered_json json;
    for (const InvarianceDimension &dimension : catalog.invariance().dimensions)
      json["dimensions"][dimension.name] = {{"obligations", dimension.obligations},
                                            {"meaning", dimension.meaning}};
    json["contracts"] = nlohmann::ordered_json::array();
    for (const Derived &derived : all)
      json["contracts"].push_back(contractJson(derived, dimensions));
    printLine(json.dump(1));
  } else if (command.id.empty()) {
    printTable(all, dimensions);
  } else {
    printWhole(all.front(), dimensions);
  }
  return exitOk;
}

} // namespace writ::tool
