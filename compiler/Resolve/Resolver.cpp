//===- Resolver.cpp - exactly one provider, or an error that teaches ------===//
#include "compiler/Resolve/Resolver.h"

#include "compiler/Resolve/ReadCatalog.h"
#include "compiler/Resolve/TakenNames.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ {
namespace {

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string join(const std::vector<std::string> &texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// "{weight=q4_1, activation=f32, …, contract=…, target=cpu}"
std::string describe(const Catalog &catalog, const Requirement &requirement) {
  std::vector<std::string> fields;
  for (const OperandRule &operand : catalog.families().at(requirement.op).operands)
    if (auto it = requirement.storage.find(operand.name); it != requirement.storage.end())
      fields.push_back(fmt::format("{}={}", it->first, it->second));
  for (const auto &[name, value] : requirement.attributes)
    fields.push_back(fmt::format("{}={}", name, value));
  for (const auto &[name, value] : requirement.dimensions)
    fields.push_back(fmt::format("{}={}", name, value));
  fields.push_back("contract=" + requirement.contract);
  fields.push_back("target=" + requirement.target);
  return "{" + join(fields) + "}";
}

void compareOperands(const KernelMap &map, const Requirement &requirement, Candidate &candidate) {
  for (const auto &[name, storage] : requirement.storage) {
    auto it = map.operands.find(name);
    if (it == map.operands.end()) {
      candidate.differences.push_back(name);
      candidate.reasons.push_back(fmt::format("takes no operand '{}'", name));
    } else if (it->second.storage != storage) {
      candidate.differences.push_back(name);
      candidate.reasons.push_back(
          fmt::format("{} is {}, it takes {}", name, storage, it->second.storage));
    }
  }
  for (const auto &[name, operand] : map.operands)
    if (!operand.optional && !requirement.storage.contains(name)) {
      candidate.differences.push_back(name);
      candidate.reasons.push_back(fmt::format("needs operand '{}'", name));
    }
}

void compareShape(const KernelMap &map, const Requirement &requirement, Candidate &candidate) {
  for (const auto &[name, value] : requirement.attributes) {
    auto it = map.attributes.find(name);
    // Of an optional attribute a map need not speak: it led to the contract.
    if (it == map.attributes.end() || has(it->second, value))
      continue;
    candidate.differences.push_back(name);
    candidate.reasons.push_back(
        fmt::format("{} is {}, it takes {}", name, value, join(it->second)));
  }
  for (const auto &[name, value] : requirement.dimensions) {
    auto it = map.dimensions.find(name);
    if (it == map.dimensions.end())
      continue;
    const DimensionRange &range = it->second;
    if (value >= range.min && (!range.max || value <= *range.max) && value % range.multipleOf == 0)
      continue;
    candidate.differences.push_back(name);
    candidate.reasons.push_back(
        fmt::format("{} is {}, it takes {}{}{}", name, value,
                    range.max ? fmt::format("[{}, {}]", range.min, *range.max)
                              : fmt::format("at least {}", range.min),
                    range.multipleOf == 1 ? "" : ", multiples of ",
                    range.multipleOf == 1 ? "" : fmt::format("{}", range.multipleOf)));
  }
}

/// A dimension that no requirement fixes (the number of rows) may take any value at run time, so a
/// provider has to accept them all.
void compareFreeDimensions(const KernelMap &map, const Requirement &requirement,
                           Candidate &candidate) {
  for (const auto &[name, range] : map.dimensions)
    if (!requirement.dimensions.contains(name) &&
        (range.min > 1 || range.max || range.multipleOf != 1)) {
      candidate.differences.push_back(name);
      candidate.reasons.push_back(fmt::format("{} may be any number, it takes only some", name));
    }
}

Candidate compare(const KernelMap &map, const Requirement &requirement) {
  Candidate candidate{map.id, {}, {}};
  compareOperands(map, requirement, candidate);
  compareShape(map, requirement, candidate);
  compareFreeDimensions(map, requirement, candidate);
  auto differs = [&](bool fits, const char *field, std::string reason) {
    if (fits)
      return;
    candidate.differences.push_back(field);
    candidate.reasons.push_back(std::move(reason));
  };
  differs(has(map.contracts, requirement.contract), "contract",
          fmt::format("keeps {}", join(map.contracts)));
  differs(has(map.phases, requirement.phase), "phase", fmt::format("runs in {}", join(map.phases)));
  differs(map.target == requirement.target, "target", fmt::format("is for {}", map.target));
  return candidate;
}

[[noreturn]] void refuseUnsupported(const Catalog &catalog, const Requirement &requirement,
                                    const std::vector<Candidate> &all) {
  std::vector<Note> notes;
  size_t least = SIZE_MAX;
  for (const Candidate &candidate : all)
    least = std::min(least, candidate.differences.size());
  for (const Candidate &candidate : all)
    if (candidate.differences.size() == least && notes.size() < 4)
      notes.push_back({catalog.kernelMaps().at(candidate.provider).json.at("id").location(),
                       fmt::format("nearest provider '{}' differs in {}: {}", candidate.provider,
                                   join(candidate.differences), join(candidate.reasons))});
  notes.push_back({{}, "add a provider or change the circuit; there is no fallback"});
  throw Error(requirement.location, "E101",
              fmt::format("no kernel provides '{}' for {} (op '{}', {})", requirement.op,
                          describe(catalog, requirement), requirement.name, requirement.phase),
              notes);
}

[[noreturn]] void refuseAmbiguous(const Catalog &catalog, const Requirement &requirement,
                                  const std::vector<const KernelMap *> &matches) {
  std::vector<Note> notes;
  for (const KernelMap *map : matches)
    notes.push_back(
        {map->json.at("id").location(), fmt::format("candidate accepts {}", acceptedRegion(*map))});
  auto overlap = overlapOf(*matches[0], *matches[1]);
  notes.push_back({{},
                   fmt::format("both accept {}; make the ranges disjoint",
                               overlap && !overlap->empty() ? join(*overlap) : "every shape")});
  throw Error(requirement.location, "E102",
              fmt::format("{} kernels provide '{}' for {}; exactly one must match", matches.size(),
                          requirement.op, describe(catalog, requirement)),
              notes);
}

Resolution resolutionOf(const Contract &contract, const KernelMap &map) {
  Resolution resolution;
  resolution.contract = contract.id;
  resolution.contractDigest = contract.digest;
  resolution.provider = map.id;
  resolution.mapDigest = map.digest;
  resolution.contractOracle = map.contractOracle;
  resolution.production = map.production;
  resolution.threaded = map.threaded;
  resolution.partition = map.partition;
  resolution.extent = map.extent;
  resolution.grain = map.grain;
  resolution.schedulingAltersOrder = map.schedulingAltersOrder;
  resolution.isa = map.isa;
  return resolution;
}

} // namespace

namespace {

std::set<std::string> operandsAndNumbers(const TakenNames &taken) {
  std::set<std::string> names;
  for (const TakenNames::Takers *takers : {&taken.operands, &taken.numbers})
    for (const auto &[name, words] : *takers)
      names.insert(name);
  return names;
}

/// What an op gives beyond its family's needs.
std::set<std::string> beyondNeeds(const Catalog &catalog, const std::string &op,
                                  const std::set<std::string> &given) {
  std::set<std::string> beyond = operandsAndNumbers(takenInFamily(catalog, op));
  std::erase_if(beyond, [&](const std::string &name) { return !given.contains(name); });
  return beyond;
}

/// Those of `rules` whose contract takes `beyond`, no less and no more. A contract that there is
/// not is left for its own message.
std::vector<const ProfileRule *> rulesThatTake(const Catalog &catalog,
                                               const std::vector<const ProfileRule *> &rules,
                                               const std::set<std::string> &beyond) {
  std::vector<const ProfileRule *> taking;
  for (const ProfileRule *rule : rules) {
    const auto contract = catalog.contracts().find(rule->contract);
    if (contract == catalog.contracts().end() ||
        operandsAndNumbers(takenBy(catalog, contract->second)) == beyond)
      taking.push_back(rule);
  }
  return taking;
}

} // namespace

std::string contractOf(const Catalog &catalog, const Profile &profile, const std::string &op,
                       const std::map<std::string, std::string> &fields, const std::string &wanted,
                       const Location &location, const std::set<std::string> &given) {
  const std::map<std::string, std::string> &defaults = catalog.families().at(op).optionalAttributes;
  std::vector<const ProfileRule *> fitting;
  for (const ProfileRule &rule : profile.rules) {
    if (rule.op != op)
      continue;
    bool fits = std::all_of(rule.match.begin(), rule.match.end(), [&](const auto &field) {
      const auto given = fields.find(field.first), absent = defaults.find(field.first);
      if (given != fields.end())
        return given->second == field.second;
      return absent != defaults.end() && absent->second == field.second;
    });
    if (fits)
      fitting.push_back(&rule);
  }
  std::vector<std::string> described;
  for (const auto &[name, value] : fields)
    described.push_back(fmt::format("{}={}", name, value));
  if (wanted != "profile" && !catalog.contracts().contains(wanted))
    throw Error(unknownContract(catalog, wanted, location));
  if (fitting.empty())
    throw Error(location, "E111",
                fmt::format("profile '{}' has no contract for '{}' with {{{}}}", profile.id, op,
                            join(described)),
                {{profile.json.at("rules").location(), "the profile's rules stand here"}});
  const auto notes = [](const std::vector<const ProfileRule *> &rules) {
    std::vector<Note> all;
    for (const ProfileRule *rule : rules)
      all.push_back({rule->location, fmt::format("this rule gives '{}'", rule->contract)});
    return all;
  };
  if (const std::vector<const ProfileRule *> several = fitting; several.size() > 1) {
    const std::set<std::string> beyond = beyondNeeds(catalog, op, given);
    fitting = rulesThatTake(catalog, several, beyond);
    if (fitting.empty())
      throw Error(location, "E111",
                  fmt::format("profile '{}' has no contract for '{}' with {{{}}} that takes {}",
                              profile.id, op, join(described),
                              beyond.empty() ? "nothing beside them"
                                             : fmt::format("{}", fmt::join(beyond, " and "))),
                  notes(several));
  }
  if (fitting.size() > 1)
    throw Error(location, "E112",
                fmt::format("profile '{}' has {} rules for '{}' with {{{}}}; exactly one must fit",
                            profile.id, fitting.size(), op, join(described)),
                notes(fitting));
  if (wanted != "profile" && wanted != fitting[0]->contract)
    throw Error(location, "E110",
                fmt::format("'{}' requires contract '{}', but profile '{}' gives '{}'", op, wanted,
                            profile.id, fitting[0]->contract),
                {{fitting[0]->location, "the profile's rule stands here"}});
  return fitting[0]->contract;
}

std::vector<Candidate> candidates(const Catalog &catalog, const Requirement &requirement) {
  std::vector<Candidate> all;
  for (const auto &[id, map] : catalog.kernelMaps())
    if (map.op == requirement.op)
      all.push_back(compare(map, requirement));
  return all;
}

Resolution resolve(const Catalog &catalog, const Requirement &requirement) {
  const auto contract = catalog.contracts().find(requirement.contract);
  const bool isFusion = !catalog.families().at(requirement.op).parts.empty();
  if (contract == catalog.contracts().end() && !isFusion)
    throw Error(unknownContract(catalog, requirement.contract, requirement.location));
  const std::vector<Candidate> all = candidates(catalog, requirement);
  std::vector<const KernelMap *> matches;
  for (const Candidate &candidate : all)
    if (candidate.differences.empty())
      matches.push_back(&catalog.kernelMaps().at(candidate.provider));
  if (matches.empty())
    refuseUnsupported(catalog, requirement, all);
  if (matches.size() > 1)
    refuseAmbiguous(catalog, requirement, matches);
  return resolutionOf(contract->second, *matches[0]);
}

} // namespace writ
