//===- Catalog.cpp - reading the data folders -----------------------------===//
#include "compiler/Resolve/Catalog.h"

#include "compiler/Resolve/ReadCatalog.h"
#include "compiler/Resolve/TakenNames.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace writ {
namespace fs = std::filesystem;
namespace {

/// The .json files directly in `folder`, sorted: the order of a folder's entries is not to be
/// relied on.
std::vector<fs::path> jsonFiles(const fs::path &folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".json")
      files.push_back(it->path());
  if (error)
    throw Error({folder.string()}, "E001", fmt::format("cannot read folder: {}", error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> folders(const fs::path &root) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error))
    if (it->is_directory())
      found.push_back(it->path());
  if (error)
    throw Error({root.string()}, "E001", fmt::format("cannot read folder: {}", error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace

CatalogPaths CatalogPaths::below(const std::string &root) {
  return {root + "/contracts", root + "/kernel_maps", root + "/circuits"};
}

/// Collects the diagnostics of all files, so that one run shows every fault.
struct CatalogReader {
  const DocumentReader &document;
  Catalog catalog;
  std::vector<Diagnostic> found;

  /// Reads `path`, checks it against `schema`, and hands it to `take`.
  template <typename Take> void read(const fs::path &path, const Json &schema, Take take) {
    try {
      take(document(path.string(), &schema));
    } catch (const Error &error) {
      found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }

  /// Puts an entry under its id, which must be the file's stem.
  template <typename Entry>
  void put(std::map<std::string, Entry> &table, const std::string &id, Entry entry,
           const Json &json, const fs::path &path) {
    if (path.stem() != id)
      found.push_back({json.at("id").location(),
                       "E120",
                       fmt::format("id '{}' stands in '{}'; an id is its file's stem", id,
                                   path.filename().string()),
                       {}});
    else if (!table.emplace(id, std::move(entry)).second)
      found.push_back(
          {json.at("id").location(), "E120", fmt::format("id '{}' is declared twice", id), {}});
  }

  void readContracts() {
    const fs::path root = catalog.folders.contracts;
    const Json contractSchema = document((root / "schema/contract.json").string(), nullptr);
    const Json profileSchema = document((root / "schema/profile.json").string(), nullptr);
    for (const auto &entry : catalog.familyTable) {
      const std::string &name = entry.first; // clang 14 captures no structured binding
      std::error_code error;                 // a name may be no name of a file
      if (!fs::is_directory(root / name, error))
        continue;
      for (const fs::path &path : jsonFiles(root / name))
        read(path, contractSchema, [&](const Json &json) {
          Contract contract = readContract(json);
          if (contract.family != name)
            found.push_back(
                {json.at("family").location(),
                 "E121",
                 fmt::format("family '{}' stands in the folder of '{}'", contract.family, name),
                 {}});
          put(catalog.contractTable, contract.id, contract, json, path);
        });
    }
    for (const fs::path &path : jsonFiles(root / "profiles"))
      read(path, profileSchema, [&](const Json &json) {
        Profile profile = readProfile(json);
        put(catalog.profileTable, profile.id, profile, json, path);
      });
  }

  /// What the words of the vocabulary let decide; looked at once the contracts use known words. The
  /// contracts are read by the functions' steps once those are sound.
  void readInvariance() {
    const fs::path root = catalog.folders.contracts;
    const Json schema = document((root / "schema/invariance.json").string(), nullptr);
    const Json functionsSchema = document((root / "schema/functions.json").string(), nullptr);
    const Json functions = document((root / "functions.json").string(), &functionsSchema);
    read(root / "invariance.json", schema, [&](const Json &json) {
      catalog.invarianceRules = readInvarianceRules(json, catalog.vocabularyJson, functions, found);
    });
    checkFunctions(functions, catalog.vocabularyJson, found);
    if (found.empty())
      checkWordLists(catalog, found);
    if (found.empty())
      checkInvariance(catalog, found);
    if (found.empty())
      checkReadable(catalog, functions, found);
  }

  void readMaps() {
    const fs::path root = catalog.folders.kernelMaps;
    const Json schema = document((root / "schema/kernel_map.json").string(), nullptr);
    for (const fs::path &folder : folders(root)) {
      if (folder.filename() == "schema")
        continue;
      for (const fs::path &path : jsonFiles(folder))
        read(path, schema, [&](const Json &json) {
          KernelMap map = readKernelMap(json);
          if (folder.filename() != map.op)
            found.push_back({json.at("op").location(),
                             "E121",
                             fmt::format("op '{}' stands in the folder of '{}'", map.op,
                                         folder.filename().string()),
                             {}});
          put(catalog.mapTable, map.id, map, json, path);
        });
    }
  }

  /// The contracts that maps of fusions name. Each stands where it is named first.
  void composeContracts() {
    for (const auto &[id, map] : catalog.mapTable) {
      const auto family = catalog.familyTable.find(map.op);
      if (family == catalog.familyTable.end() || family->second.parts.empty())
        continue;
      for (const Json &contract : map.json.at("contracts").elements())
        try {
          catalog.contractTable.emplace(contract.asString(),
                                        composeContract(catalog, family->second, contract));
        } catch (const Error &error) {
          found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
        }
    }
  }

  void readCircuits() {
    const fs::path root = catalog.folders.circuits;
    const Json schema = document((root / "schema/circuit.json").string(), nullptr);
    for (const fs::path &path : jsonFiles(root))
      read(path, schema, [&](const Json &json) {
        put(catalog.circuitTable, json.at("id").asString(), json, json, path);
      });
  }
};

Json readDocument(const std::string &path, const Json *schema) {
  Json json = readJsonFile(path);
  if (schema)
    checkSchema(json, *schema);
  return json;
}

Catalog Catalog::load(const CatalogPaths &paths, const KnownFunctions &functions,
                      const DocumentReader &read) {
  CatalogReader reader{read, {}, {}};
  Catalog &catalog = reader.catalog;
  catalog.folders = paths;
  const Json schema = read(paths.contracts + "/schema/vocabulary.json", nullptr);
  catalog.vocabularyJson = read(paths.contracts + "/vocabulary.json", &schema);
  catalog.familyTable = readFamilies(catalog.vocabularyJson);
  reader.readContracts();
  reader.readMaps();
  reader.readCircuits();
  if (reader.found.empty()) {
    extendProfiles(catalog.profileTable, reader.found);
    checkFamilies(catalog, reader.found);
    checkFusions(catalog, reader.found);
  }
  if (reader.found.empty())
    reader.composeContracts();
  if (reader.found.empty()) {
    checkContracts(catalog, reader.found);
    checkProfiles(catalog, reader.found);
    checkKernelMaps(catalog, functions, reader.found);
    checkOverlaps(catalog, reader.found);
  }
  if (reader.found.empty())
    checkTakenNames(catalog, reader.found);
  if (reader.found.empty())
    reader.readInvariance();
  if (reader.found.empty())
    checkMapClaims(catalog, reader.found);
  if (!reader.found.empty())
    throw Error(std::move(reader.found));
  return std::move(reader.catalog);
}

} // namespace writ
