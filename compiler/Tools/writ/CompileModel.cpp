//===- CompileModel.cpp - from a model file to CallIR ---------------------===//
#include "compiler/Tools/writ/CompileModel.h"

#include "compiler/Import/ReadTokenizer.h"
#include "compiler/Resolve/Invariance.h"
#include "compiler/Support/EditDistance.h"
#include "compiler/Tools/writ/EvidenceDigests.h"
#include "compiler/Tools/writ/Install.h"
#include "writ/kernel_table.h"
#include "writ/package_format.h"

#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace writ::tool {
namespace {

/// The storage types of the weights that come from the model's file.
std::set<std::string> weightStorages(const CircuitInstance &instance) {
  std::set<std::string> types;
  for (const InstanceOp &op : instance.ops)
    for (const auto &[operand, weight] : op.weights)
      if (weight.constant.empty())
        types.insert(weight.storage);
  return types;
}

const Profile &findProfile(const Catalog &catalog, const std::string &name) {
  auto it = catalog.profiles().find(name);
  if (it != catalog.profiles().end())
    return it->second;
  std::vector<std::string> known;
  for (const auto &entry : catalog.profiles())
    known.push_back(entry.first);
  throw Error({"--profile"}, "E051", fmt::format("'{}' is not a profile", name),
              {{{}, "profiles: " + quotedList(known)}});
}

void requireTarget(const Catalog &catalog, const std::string &name) {
  std::set<std::string> targets;
  for (const auto &[id, map] : catalog.kernelMaps())
    targets.insert(map.target);
  const std::vector<std::string> known(targets.begin(), targets.end());
  if (!targets.contains(name))
    throw Error({"--target"}, "E051", fmt::format("'{}' is not a target", name),
                {{{}, "targets: " + quotedList(known)}});
}

/// The profile has to keep K and V so, for some op at least; the ops of the model are resolved
/// later.
void requireKvStorage(const Catalog &catalog, const Profile &profile, const std::string &storage) {
  std::set<std::string> kept;
  for (const ProfileRule &rule : profile.rules)
    for (const OperandRule &operand : catalog.families().at(rule.op).operands)
      if (operand.kind == "state")
        kept.insert(catalog.contracts().at(rule.contract).storage.at(operand.name));
  if (!kept.contains(storage))
    throw Error(
        {"--kv"}, "E051", fmt::format("profile '{}' keeps no K and V in '{}'", profile.id, storage),
        {{{}, "storage types: " + quotedList(std::vector<std::string>(kept.begin(), kept.end()))}});
}

/// A model without a usable template still continues text; a chat with it is refused.
void readChat(CompiledModel &model) {
  std::vector<ChatTemplate> chats;
  for (const Json &json : model.instance.chatTemplates) {
    std::string error;
    if (!parseChatTemplate(json.plain(), &chats.emplace_back(), &error))
      throw Error(json.location(), "E047", error);
  }
  try {
    if (const ChatTemplate *chat = matchChatTemplate(*model.file, model.tokenizer, chats))
      model.chat = *chat;
  } catch (const Error &error) {
    model.chatFault = error.diagnostics().front();
  }
}

std::vector<std::pair<Requirement, Resolution>> decisionsOf(const CompiledModel &model) {
  std::vector<std::pair<Requirement, Resolution>> decisions;
  for (const ResolvedRequirement &resolved : model.resolutions)
    decisions.emplace_back(resolved.requirement, resolved.resolution);
  return decisions;
}

} // namespace

std::vector<EvidenceNeed> evidenceNeeds(const CompiledModel &model) {
  EvidenceSubject subject{
      model.instance.circuit, model.profile, weightStorages(model.instance), {}, {}};
  for (const InstanceKvGroup &group : model.instance.kvGroups)
    subject.kv.push_back(group.storage);
  for (const auto &[requirement, resolution] : decisionsOf(model))
    subject.decisions.push_back({resolution.contract, resolution.provider, requirement.location});
  return writ::evidenceNeeds(model.catalog, subject);
}

CurrentDigests currentDigests(const Catalog &catalog) {
  CurrentDigests digests = catalogDigests(catalog);
  for (const auto &[id, map] : catalog.kernelMaps())
    if (const writ_provider *provider = writ_find_provider(id.c_str())) {
      digests["source:" + id] = provider->source_sha256;
      if (const std::string flags = writ_flags_sha256(provider); !flags.empty())
        digests["flags:" + id] = flags;
    }
  digests.merge(sourceDigests());
  return digests;
}

void requireNoPackage(const std::string &path) {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::path(path) / kLockFile, error))
    throw Error({path}, "E020", "a package, where a model file is wanted",
                {{{}, "run, score, tokenize and explain take a package"}});
}

CompiledModel compileModel(const std::string &path, const CompileOptions &options) {
  requireNoPackage(path);
  CompiledModel model;
  model.file = openModelFile(path);
  model.catalog = Catalog::load(dataPaths(options.data), linkedFunctions());
  const Profile &profile = findProfile(model.catalog, options.profile);
  model.profile = profile.id;
  model.leastIsa = options.leastIsa;
  requireTarget(model.catalog, options.target);
  checkDimensionNames(model.catalog, options.require);
  if (!options.kv.empty())
    requireKvStorage(model.catalog, profile, options.kv);
  model.instance =
      instantiate(model.catalog, findCircuit(model.catalog, *model.file), *model.file, options.kv);
  model.tokenizer = readTokenizer(*model.file);
  if (int64_t(model.tokenizer.tokens.size()) != model.instance.vocabulary)
    throw Error({path}, "E044",
                fmt::format("the tokenizer has {} tokens, the model {} logits",
                            model.tokenizer.tokens.size(), model.instance.vocabulary));
  readChat(model);
  model.fileSha256 = model.file->sha256();

  BuildOptions build;
  build.target = options.target;
  build.production = !options.bringup;
  build.inputs["model"] = model.fileSha256;
  Compilation compilation;
  compilation.buildRequirements(model.instance, model.catalog, profile, build);
  // Before the choice: what a contract derives does not hang on whether a kernel keeps it.
  requireInvariance(model.catalog, compilation.requirements(model.catalog), options.require);
  compilation.resolve(model.catalog);
  model.resolutions = compilation.resolutions();
  if (!options.bringup)
    requireEvidence(model.catalog, evidenceNeeds(model), currentDigests(model.catalog));
  compilation.buildGraph();
  model.graphIr = compilation.text();
  compilation.lower();
  model.loweredIr = compilation.text();
  compilation.toCall();
  model.callIr = compilation.text();
  model.call = compilation.callModel();
  return model;
}

} // namespace writ::tool
