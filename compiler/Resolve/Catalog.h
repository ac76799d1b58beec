//===- Catalog.h - contracts, profiles, kernel maps and circuits on disk --===//
//
// The catalog is everything that the compiler may resolve to: it reads the data folders, checks
// each file against its JSON Schema, and finds faults that no circuit is needed for (an unknown
// word, a loose id, two maps that overlap, a map whose functions do not exist).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Resolve/InvarianceRules.h"
#include "compiler/Support/Json.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// What an op family consists of, from vocabulary.json ("families"). Order is that of the file.
struct OperandRule {
  std::string name;
  std::string kind; ///< "input", "weight", "output", "state"
  bool optional = false;
  std::vector<std::string> shape; ///< of weights: the names of its dimensions, outermost first
};
/// One op of a fusion: its family, and what the names of that family are called in the fusion.
struct FamilyPart {
  std::string family;
  std::map<std::string, std::string> as; ///< the others keep their names

  std::string nameOf(const std::string &name) const {
    auto it = as.find(name);
    return it == as.end() ? name : it->second;
  }
};
struct Family {
  std::string name;
  std::vector<OperandRule> operands;
  std::vector<std::string> dimensions;
  std::vector<std::string> attributes;   ///< string-valued; take part in matching
  std::vector<std::string> numbers;      ///< numeric parameters; passed on, never matched
  std::set<std::string> optionalNumbers; ///< those that only some words take
  /// Those that an op may leave out, with the word that it then has.
  std::map<std::string, std::string> optionalAttributes;
  std::vector<std::string> phases; ///< phases in which the family can run
  std::vector<FamilyPart> parts;   ///< of a fusion, in order; empty for a family of its own
  std::set<std::string> inner;     ///< of a fusion: values from one part to a later one
};

struct Contract {
  std::string id;
  std::string family;
  std::map<std::string, std::string> storage; ///< per operand
  /// Of a fusion: the contracts of its parts. There is no file of it; its JSON holds theirs.
  std::vector<std::string> parts;
  Json json;
  std::string digest; ///< SHA-256 of the canonical JSON
};

/// One rule of a profile: a requirement of `op` whose operand storages and attributes equal `match`
/// has `contract`. Exactly one rule fits a requirement.
struct ProfileRule {
  std::string op;
  std::map<std::string, std::string> match;
  std::string contract;
  Location location;
};
/// What a profile extends it takes over, but for the rules whose op and match it has itself.
struct Profile {
  std::string id;
  std::vector<std::string> fusions; ///< families with parts, those that are on, in order
  std::vector<ProfileRule> rules;   ///< with those that it takes over
  Json json;                        ///< as it is written
  std::string digest;               ///< also of what it extends
};

struct DimensionRange {
  int64_t min = 1;
  std::optional<int64_t> max;
  int64_t multipleOf = 1;
};
struct MapOperand {
  std::string storage;
  std::string layout; ///< of weights; empty otherwise
  bool optional = false;
};
struct MapArgument {
  std::string name, type, bind;
};
struct KernelMap {
  std::string id, op, target;
  std::vector<std::string> contracts, phases;
  std::map<std::string, MapOperand> operands;
  std::map<std::string, std::vector<std::string>> attributes;
  std::map<std::string, DimensionRange> dimensions;
  std::string contractOracle, production, threaded;
  std::vector<std::string> isa;
  std::string threadingRuntime, partition;
  std::vector<std::string> partitions;
  std::vector<std::string> extent; ///< product of these dimensions is split
  int64_t grain = 1;
  bool schedulingAltersOrder = false;
  std::vector<MapArgument> arguments;
  Json json;
  std::string digest;
};

struct CatalogPaths {
  std::string
      contracts; ///< folder of vocabulary.json, invariance.json, schema/, profiles/, evidence/
  std::string kernelMaps;
  std::string circuits;

  /// The three folders below one root, as the repository and share/writ lay them out.
  static CatalogPaths below(const std::string &root);
};

/// The functions that are really there, so that a map cannot name one that is not. The driver
/// answers from the kernel table and the reference that it is linked with.
struct KnownFunctions {
  std::function<bool(std::string_view)> contractOracle; ///< of ir/Reference
  std::function<bool(std::string_view)> provider;       ///< of the kernel table, by provider id
};

/// Gives the JSON file at `path`, checked against `schema`; null where the file is a schema itself.
using DocumentReader = std::function<Json(const std::string &path, const Json *schema)>;
/// The one that reads what lies there. E001, E010, E011 and what checkSchema throws.
Json readDocument(const std::string &path, const Json *schema);

class Catalog {
public:
  /// Reads and checks everything; throws Error with every diagnostic found. A caller that loads
  /// again after one file changed may give a reader that remembers the others.
  static Catalog load(const CatalogPaths &paths, const KnownFunctions &functions,
                      const DocumentReader &read = readDocument);

  const std::map<std::string, Family> &families() const { return familyTable; }
  const std::map<std::string, Contract> &contracts() const { return contractTable; }
  const std::map<std::string, Profile> &profiles() const { return profileTable; }
  const std::map<std::string, KernelMap> &kernelMaps() const { return mapTable; }
  const std::map<std::string, Json> &circuits() const { return circuitTable; }
  const CatalogPaths &paths() const { return folders; }
  const Json &vocabulary() const { return vocabularyJson; }
  const InvarianceRules &invariance() const { return invarianceRules; }

private:
  friend struct CatalogReader;
  CatalogPaths folders;
  std::map<std::string, Family> familyTable;
  std::map<std::string, Contract> contractTable;
  std::map<std::string, Profile> profileTable;
  std::map<std::string, KernelMap> mapTable;
  std::map<std::string, Json> circuitTable;
  Json vocabularyJson;
  InvarianceRules invarianceRules;
};

} // namespace writ
