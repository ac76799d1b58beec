#include "tests/mutation/DataReaders.h"

#include "ir/Reference/Reference.h"
#include "tests/emit/Example.h"
#include "tests/mutation/SlidingModel.h"
#include "writ/chat.h"

#include <filesystem>
#include <fstream>

namespace writ::test {
namespace {

namespace fs = std::filesystem;

/// One layer for each storage that a linear weight may have, so that each has a user.
TinyModel::Sizes everyStorage() {
  TinyModel::Sizes sizes;
  sizes.layers = 11;
  sizes.width = sizes.ffn = 256;
  sizes.storage = [](int64_t layer) {
    constexpr const char *names[] = {"f32",  "f16",  "bf16", "q4_0", "q4_1", "q5_0",
                                     "q5_1", "q8_0", "q4_k", "q5_k", "q6_k"};
    return std::string(names[layer]);
  };
  return sizes;
}

/// The kind of the file at `path`, by the folder that holds it.
DataKind kindOf(const fs::path &path) {
  const std::string top = path.begin()->string(), folder = path.parent_path().filename().string();
  if (folder == "schema")
    return DataKind::schema;
  if (top == "kernel_maps")
    return DataKind::map;
  if (top == "circuits")
    return folder == "chat" ? DataKind::chat : DataKind::circuit;
  if (path.string().find("/evidence/") != std::string::npos)
    return DataKind::evidence;
  if (folder == "profiles")
    return DataKind::profile;
  if (folder == "contracts")
    return path.stem() == "vocabulary"   ? DataKind::vocabulary
           : path.stem() == "invariance" ? DataKind::invariance
                                         : DataKind::functions;
  return DataKind::contract;
}

} // namespace

DataReaders::DataReaders() {
  for (const auto &entry : fs::recursive_directory_iterator(tree.path("")))
    if (entry.path().extension() == ".json") {
      const fs::path relative = fs::relative(entry.path(), tree.path(""));
      byKind[kindOf(relative)].push_back(relative.string());
      texts[relative.string()] = tree.read(relative.string());
    }
  for (auto &[kind, files] : byKind)
    std::sort(files.begin(), files.end());
  catalog = Catalog::load(tree.paths(), knownFunctions(),
                          [&](const std::string &path, const Json *schema) {
                            return remembered[path] = readDocument(path, schema);
                          });
  const std::shared_ptr<const ModelFile> models[] = {std::make_shared<TinyModel>(),
                                                     std::make_shared<SlidingModel>(),
                                                     std::make_shared<TinyModel>(everyStorage())};
  // Not every profile has a contract for every storage; the small models are of all of them.
  const auto compiles = [&](const Use &use) {
    try {
      compile(catalog, use);
      return true;
    } catch (const Error &) {
      return false;
    }
  };
  for (const auto &model : models)
    for (const auto &entry : catalog.profiles())
      if (const Use use{model, entry.first}; model != models[2] || compiles(use))
        uses.push_back(use);
}

void DataReaders::put(const std::string &file, const std::string &text) const {
  // A new file: file systems write an old one that is cut off to the disk when it is closed.
  fs::remove(tree.path(file));
  std::ofstream(tree.path(file), std::ios::binary) << text;
}

Answer DataReaders::read(DataKind kind, const std::string &file, const std::string &text) {
  put(file, text);
  Answer answer = answerOf([&] { readAs(kind, file); });
  put(file, good(file));
  answer.said = tree.relative(answer.said);
  return answer;
}

void DataReaders::readAs(DataKind kind, const std::string &file) {
  switch (kind) {
  case DataKind::chat:
    return readChat(file);
  case DataKind::functions:
    return readFunctions(file);
  case DataKind::schema:
    return readSchema(file);
  case DataKind::evidence:
    return readRecord(file);
  default:
    return readCatalog(kind, file);
  }
}

KnownFunctions DataReaders::knownFunctions() const {
  return {[](std::string_view name) { return reference::findReference(name) != nullptr; },
          [this](std::string_view id) {
            return std::any_of(files(DataKind::map).begin(), files(DataKind::map).end(),
                               [&](const fs::path &file) { return file.stem() == id; });
          }};
}

std::string DataReaders::schemaOf(DataKind kind) const {
  switch (kind) {
  case DataKind::contract:
    return "contracts/schema/contract.json";
  case DataKind::profile:
    return "contracts/schema/profile.json";
  case DataKind::map:
    return "kernel_maps/schema/kernel_map.json";
  case DataKind::circuit:
    return "circuits/schema/circuit.json";
  case DataKind::vocabulary:
    return "contracts/schema/vocabulary.json";
  case DataKind::invariance:
    return "contracts/schema/invariance.json";
  case DataKind::functions:
    return "contracts/schema/functions.json";
  default:
    return "contracts/schema/evidence.json";
  }
}

/// The file alone first: where it is refused, the catalog says the same after it has read the rest.
void DataReaders::readCatalog(DataKind kind, const std::string &file) {
  const std::string changed = tree.path(file);
  const Json json = readDocument(changed, &remembered.at(tree.path(schemaOf(kind))));
  const Catalog loaded = Catalog::load(
      tree.paths(), knownFunctions(), [&](const std::string &path, const Json *schema) {
        auto known = remembered.find(path);
        return path == changed             ? json
               : known == remembered.end() ? readDocument(path, schema)
                                           : known->second;
      });
  for (const Use &use : usesOf(kind, file))
    compile(loaded, use);
}

/// Where no model is compiled by the contract or map, any is: the catalog has it all the same.
const DataReaders::Use &DataReaders::firstUseOf(const std::string &id) {
  if (useOfId.empty())
    for (size_t i = 0; i < uses.size(); ++i)
      for (const std::string &used : compile(catalog, uses[i]))
        useOfId.emplace(used, i);
  auto use = useOfId.find(id);
  return uses[use == useOfId.end() ? 0 : use->second];
}

/// A model of each family, except for what only one of them can show.
std::vector<DataReaders::Use> DataReaders::usesOf(DataKind kind, const std::string &file) {
  const std::string id = fs::path(file).stem();
  if (kind == DataKind::functions) // no part of compiling, only of its digest
    return {};
  if (kind == DataKind::contract || kind == DataKind::map)
    return {firstUseOf(id)};
  std::vector<Use> found;
  for (size_t i = 0; i < 2 * catalog.profiles().size(); ++i) { // the two small models
    const std::string circuit = findCircuit(catalog, *uses[i].model).at("id").asString();
    const std::string profile = kind == DataKind::profile ? id : uses.back().profile;
    if (uses[i].profile == profile && (kind != DataKind::circuit || circuit == id))
      found.push_back(uses[i]);
  }
  return found;
}

/// All stages. Gives the ids of contracts and providers that are in use.
std::vector<std::string> DataReaders::compile(const Catalog &from, const Use &use) const {
  const CircuitInstance instance = instantiate(from, findCircuit(from, *use.model), *use.model);
  Compilation compilation;
  compilation.buildRequirements(instance, from, from.profiles().at(use.profile));
  compilation.run(from);
  emitCpp(compilation.callModel());
  std::vector<std::string> ids;
  for (const ResolvedRequirement &resolved : compilation.resolutions()) {
    ids.push_back(resolved.resolution.contract);
    ids.push_back(resolved.resolution.provider);
  }
  return ids;
}

void DataReaders::readChat(const std::string &file) const {
  const Json json = readJsonFile(tree.path(file));
  ChatTemplate chat;
  std::string error;
  if (!parseChatTemplate(json.plain(), &chat, &error))
    throw Error(json.location(), "E047", error); // as compiling a model does
  std::vector<TextSegment> segments;
  const ChatTurn turns[] = {{"user", "Hi"}, {"assistant", "Hello"}, {"user", ""}};
  if (!renderChat(chat, std::nullopt, turns, &segments, &error))
    throw Error(json.location(), "E047", error);
}

/// What the catalog accepts, the reference evaluates; its exceptions name no place.
void DataReaders::readFunctions(const std::string &file) {
  readCatalog(DataKind::functions, file);
  catalogDigests(catalog);
  const Json json = readJsonFile(tree.path(file));
  const nlohmann::json plain = json.plain();
  try {
    for (const nlohmann::json &function : plain.at("functions"))
      for (const double argument : {-0.75, 3.0, 1e30})
        reference::evaluateFunction(plain, function.at("name"), argument);
  } catch (const std::exception &error) {
    throw Error(json.location(), "E301", error.what());
  }
}

/// Documents that the schema accepted before; as many as are read in a short time.
void DataReaders::readSchema(const std::string &file) const {
  const Json schema = readDocument(tree.path(file), nullptr);
  for (const auto &[kind, documents] : byKind) {
    if (kind == DataKind::schema || kind == DataKind::chat || schemaOf(kind) != file)
      continue;
    for (size_t i = 0; i < documents.size(); i += documents.size() / 2 + 1)
      checkSchema(readJsonFile(tree.path(documents[i])), schema);
  }
}

/// Everything is as the unchanged record binds it, so that only the change can make it count less.
void DataReaders::readRecord(const std::string &file) const {
  const Json record = parseJson(good(file), file);
  EvidenceNeed need{
      record.at("kind").asString(), record.at("subject").asString(), {}, {file, 1, 1}};
  CurrentDigests current;
  for (const Json::Member &bound : record.at("bound").members()) {
    need.bound.push_back(bound.key);
    current[bound.key] = bound.value.asString();
  }
  requireEvidence(catalog, {need}, current);
}

} // namespace writ::test
