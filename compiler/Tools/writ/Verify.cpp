//===- Verify.cpp - `writ verify` -------------------------------------------===//
//
// What opening a package leaves to trust is looked at here: every file that the lock names, and the
// lock's decisions, which the code carries as one digest only. The library comes last, because
// loading it runs its code.
//
//===----------------------------------------------------------------------===//
#include "compiler/Passes/Pipeline.h"
#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/CompileModel.h"
#include "compiler/Tools/writ/Install.h"
#include "compiler/Tools/writ/LockDiff.h"
#include "compiler/Tools/writ/LockedFile.h"
#include "compiler/Tools/writ/Measure.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/WritePackage.h"
#include "writ/package_format.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

constexpr const char *kAgain = "compile the model again";

/// Everything that is wrong is told, not only the first.
class Faults {
public:
  template <typename Check> void of(Check &&check) {
    try {
      check();
    } catch (const Error &error) {
      all.insert(all.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  void raise() {
    if (!all.empty())
      throw Error(std::move(all));
  }

private:
  std::vector<Diagnostic> all;
};

void say(const char *what, const std::string &text) {
  printLine(fmt::format("{:<10} {}", what, text));
  flushOutput();
}

bool isInside(const fs::path &path) {
  return path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

void checkFile(const std::string &package, const LockedFile &locked) {
  const std::string path = package + "/" + locked.file;
  if (!isInside(locked.file))
    throw Error(locked.sha256->location(), "E050",
                fmt::format("'{}' is not a path inside the package", locked.file));
  std::error_code error;
  if (!fs::exists(path, error))
    throw Error({path}, "E050", fmt::format("it is missing; {}", kAgain),
                {{locked.sha256->location(), "the lock names it"}});
  requireDigest(path, sha256File(path), *locked.sha256);
}

void checkFiles(const std::string &package, const Json &lock) {
  Faults faults;
  const std::vector<LockedFile> files = lockedFiles(lock);
  for (const LockedFile &file : files)
    faults.of([&] { checkFile(package, file); });
  faults.raise();
  say("files", fmt::format("{} files have the digests that the lock names, the weights whole ({})",
                           files.size(), megabytes(lock.at("weights").at("bytes").asInteger())));
}

/// What the runtime reads of the vocabulary is what people read of it.
void checkTokenizer(const std::string &package, const Json &lock) {
  const std::string path = package + "/" + kTokenizerFile;
  const std::string tables = tokenizerTables(path, readFile(path));
  if (const Json &named = lock.at("tokenizer").at("tables").at("sha256");
      sha256(tables) != named.asString())
    throw Error(
        named.location(), "E050",
        fmt::format("{} has other tokens than {}; {}", kTokenizerTables, kTokenizerFile, kAgain));
  say("tokenizer", fmt::format("{} has the tables of {}", kTokenizerTables, kTokenizerFile));
}

/// Where a path of the lock stands, as far as it does.
Location placeOf(const Json &lock, const std::vector<std::string> &path) {
  const Json *at = &lock;
  for (const std::string &key : path)
    if (const Json *member = at->isObject() ? at->find(key) : nullptr)
      at = member;
  return at->location();
}

/// What the lock has to say, if it belongs to this code; without what the IR does not know.
nlohmann::json lockOf(const CallModel &call, const std::vector<ResolvedOp> &ops) {
  const auto input = [&](const char *key) {
    return call.inputs.contains(key) ? call.inputs.at(key) : "";
  };
  nlohmann::json lock = {{"production", call.production},
                         {"target", call.target},
                         {"model", {{"name", call.name}, {"sha256", input("model")}}},
                         {"circuit", {{"id", call.circuit}, {"sha256", input("circuit")}}},
                         {"profile", {{"id", call.profile}, {"sha256", input("profile")}}},
                         {"resolution_sha256", call.resolutionSha256}};
  for (const ResolvedOp &op : ops)
    addDecision(lock, op.name, op.phase, op.resolution);
  return lock;
}

/// The parts of the lock that lockOf() knows.
nlohmann::json knownParts(const nlohmann::json &lock, const nlohmann::json &known) {
  nlohmann::json parts;
  for (const auto &[key, value] : known.items())
    parts[key] = lock.value(key, nlohmann::json());
  if (parts["model"].is_object())
    parts["model"].erase("format");
  for (nlohmann::json &provider : parts["providers"])
    if (provider.is_object())
      provider.erase("source");
  return parts;
}

void checkDecisions(const Json &lock, const CallModel &call, const std::vector<ResolvedOp> &ops) {
  const nlohmann::json expected = lockOf(call, ops);
  Faults faults;
  for (const LockChange &change : lockChanges(knownParts(lock.plain(), expected), expected))
    faults.of([&] {
      const std::string subject = wordsOf(change.path);
      throw Error(placeOf(lock, change.path), "E050",
                  change.b.is_null()
                      ? fmt::format("{} is not in {}; {}", subject, kCallFile, kAgain)
                      : fmt::format("{} is {}, but {} says {}; {}", subject,
                                    change.a.is_null() ? "missing" : wordsOf(change.a), kCallFile,
                                    wordsOf(change.b), kAgain));
    });
  faults.raise();
  say("decisions", fmt::format("{} resolutions, and the digests of their contracts and maps, are "
                               "those of {}",
                               ops.size(), kCallFile));
}

void checkLibrary(const std::string &package) {
  const std::string path = package + "/" + kLibraryFile;
  std::error_code error;
  if (!fs::exists(path, error))
    throw Error({path}, "E050", "it is missing: the package is not built, so that no code is bound",
                {{{package + "/CMakeLists.txt"}, "this builds it"}});
  openTarget(package, {}, false);
  say("library", fmt::format("{} has the digest of its build, and its code was made from this "
                             "model, circuit, profile, resolution table and {}",
                             kLibraryFile, kCallFile));
}

/// The lock's digest of something, where it differs from what is there now.
void requireCurrent(const CurrentDigests &current, const std::string &key, const Json &named) {
  const auto now = current.find(key);
  const std::string &then = named.asString();
  if (now == current.end())
    throw Error(named.location(), "E103",
                fmt::format("the package was compiled with '{}' at {}, which is not here", key,
                            shortSha256(then)));
  if (now->second != then)
    throw Error(named.location(), "E103",
                fmt::format("the package was compiled with '{}' at {}, which is {} here", key,
                            shortSha256(then), shortSha256(now->second)));
}

/// Records speak of what is here; so must the package, or they say nothing about it.
void requireCurrent(const CurrentDigests &current, const Json &lock) {
  Faults faults;
  const auto require = [&](const std::string &key, const Json &named) {
    faults.of([&] { requireCurrent(current, key, named); });
  };
  for (const char *part : {"circuit", "profile"})
    require(fmt::format("{}:{}", part, lock.at(part).at("id").asString()),
            lock.at(part).at("sha256"));
  for (const Json::Member &contract : lock.at("contracts").members())
    require("contract:" + contract.key, contract.value);
  for (const Json::Member &provider : lock.at("providers").members())
    for (const char *part : {"map", "source"})
      require(fmt::format("{}:{}", part, provider.key), provider.value.at(part));
  faults.raise();
}

void checkEvidence(const VerifyCommand &command, const Json &lock, const CallModel &call,
                   const std::vector<ResolvedOp> &ops) {
  const Json &production = lock.at("production");
  if (!production.asBool())
    throw Error(production.location(), "E103",
                "the package was compiled with --bringup, and rests on no evidence");
  const Catalog catalog = Catalog::load(dataPaths(command.data), linkedFunctions());
  const CurrentDigests current = currentDigests(catalog);
  requireCurrent(current, lock);
  EvidenceSubject subject{call.circuit, call.profile, {}, {}, {}};
  for (const CallKvGroup &group : call.kvGroups)
    subject.kv.push_back(group.storage);
  for (const PackedWeight &weight : call.weights)
    if (weight.values.empty())
      subject.storages.insert(weight.storage);
  for (const ResolvedOp &op : ops)
    subject.decisions.push_back({op.resolution.contract, op.resolution.provider, op.location});
  const std::vector<EvidenceNeed> needs = evidenceNeeds(catalog, subject);
  requireEvidence(catalog, needs, current);
  say("evidence", fmt::format("the {} records that production rests on are current, and speak of "
                              "this package's circuit, profile, contracts, maps and kernels",
                              needs.size()));
  if (!command.measure)
    return;
  std::map<std::string, Location> providers;
  for (const Json::Member &provider : lock.at("providers").members())
    providers[provider.key] = provider.keyLocation;
  measureProviders(command.programs.empty() ? fs::path(executablePath()).parent_path().string()
                                            : command.programs,
                   catalog, current, providers);
}

} // namespace

int runVerify(const VerifyCommand &command) {
  const std::string lockPath = command.package + "/" + kLockFile,
                    callPath = command.package + "/" + kCallFile;
  const Json lock = readLock(command.package);
  say("lock", fmt::format("{} has SHA-256 {}", kLockFile, sha256File(lockPath)));
  checkFiles(command.package, lock);
  checkTokenizer(command.package, lock);
  Compilation compilation;
  compilation.parse(readFile(callPath), callPath);
  compilation.checkResolution();
  const CallModel call = compilation.callModel();
  const std::vector<ResolvedOp> ops = compilation.resolvedOps();
  checkDecisions(lock, call, ops);
  checkLibrary(command.package);
  if (command.evidence)
    checkEvidence(command, lock, call, ops);
  return exitOk;
}

} // namespace writ::tool
