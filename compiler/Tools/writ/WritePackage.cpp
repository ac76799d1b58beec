//===- WritePackage.cpp - the files of a package --------------------------===//
#include "compiler/Tools/writ/WritePackage.h"

#include "compiler/Emit/EmitCpp.h"
#include "compiler/Emit/PackWeights.h"
#include "compiler/Import/SafetensorsWriter.h"
#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Report.h"
#include "writ/kernel_table.h"
#include "writ/writ.h"

#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

constexpr const char *kWeightsFile = "weights.safetensors";

/// Creates the folder of a file and writes it.
void writeText(const std::string &folder, const std::string &file, const std::string &text) {
  const fs::path path = fs::path(folder) / file;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    throw Error({path.parent_path().string()}, "E002", "cannot be made: " + error.message());
  writeFileAtomically(path.string(), text);
}

std::span<const std::byte> sourceBytes(const ModelFile &file, const PackedWeight &weight) {
  if (!weight.values.empty())
    return std::as_bytes(std::span(weight.values));
  return file.bytes(*file.findTensor(weight.tensor));
}

/// [n, k] of a weight; a vector is one row.
std::pair<int64_t, int64_t> extents(const PackedWeight &weight) {
  return weight.shape.size() == 1 ? std::pair<int64_t, int64_t>{1, weight.shape[0]}
                                  : std::pair{weight.shape[0], weight.shape[1]};
}

struct WrittenWeights {
  std::string sha256;
  uint64_t dataOffset;
};

/// Packs one weight at a time, so that no second copy of the model is ever in memory.
WrittenWeights writeWeights(const CompiledModel &model, const std::string &folder,
                            const Progress &progress) {
  const std::string path = folder + "/" + kWeightsFile;
  std::vector<SafetensorsEntry> entries;
  for (const PackedWeight &weight : model.call.weights)
    entries.push_back({weight.name, "U8", {weight.bytes}});
  SafetensorsWriter writer(path, entries, {{"format", "writ-packed"}});
  std::vector<std::byte> packed;
  for (size_t i = 0; i < model.call.weights.size(); ++i) {
    const PackedWeight &weight = model.call.weights[i];
    const auto [n, k] = extents(weight);
    const std::span<const std::byte> source = sourceBytes(*model.file, weight);
    packed.assign(size_t(weight.bytes), std::byte{0});
    if (int64_t(writer.offset(i)) != weight.offset ||
        packedBytes(weight.layout, weight.storage, n, k) != weight.bytes ||
        fileBytes(weight.storage, n, k) != int64_t(source.size()) ||
        !packWeight(weight.layout, weight.storage, n, k, source.data(), packed.data()))
      throw Error({path}, "E053",
                  fmt::format("weight '{}' ({} as {}) does not fit its place in the package",
                              weight.name, weight.storage, weight.layout));
    writer.write({reinterpret_cast<const char *>(packed.data()), packed.size()});
    if (weight.values.empty())
      model.file->release(*model.file->findTensor(weight.tensor));
    progress(double(weight.offset + weight.bytes) / double(model.call.weightsBytes));
  }
  writer.commit();
  return {sha256File(path), writer.dataOffset()};
}

nlohmann::json lockOf(const CompiledModel &model, const WrittenWeights &weights,
                      const std::string &tokenizerSha256, const std::string &chatSha256) {
  nlohmann::json lock;
  lock["schema"] = "writ.lock.v1";
  lock["package_version"] = writ_package_version();
  lock["writ_version"] = writ_version();
  lock["production"] = model.call.production;
  lock["target"] = model.call.target;
  lock["model"] = {
      {"name", model.call.name}, {"format", model.file->format()}, {"sha256", model.fileSha256}};
  lock["circuit"] = {{"id", model.instance.circuit}, {"sha256", model.instance.circuitDigest}};
  lock["profile"] = {{"id", model.profile},
                     {"sha256", model.catalog.profiles().at(model.profile).digest}};
  for (const ResolvedRequirement &resolved : model.resolutions) {
    const Resolution &resolution = resolved.resolution;
    lock["contracts"][resolution.contract] = resolution.contractDigest;
    const writ_provider *provider = writ_find_provider(resolution.provider.c_str());
    lock["providers"][resolution.provider] = {{"map", resolution.mapDigest},
                                              {"source", provider ? provider->source_sha256 : ""}};
    lock["resolutions"][resolved.requirement.name][resolved.requirement.phase] = {
        {"contract", resolution.contract}, {"provider", resolution.provider}};
  }
  lock["resolution_sha256"] = model.call.resolutionSha256;
  lock["weights"] = {{"file", kWeightsFile},
                     {"sha256", weights.sha256},
                     {"bytes", model.call.weightsBytes},
                     {"data_offset", weights.dataOffset}};
  lock["tokenizer"] = {{"file", "tokenizer.json"}, {"sha256", tokenizerSha256}};
  if (!chatSha256.empty())
    lock["chat"] = {{"file", "chat.json"}, {"sha256", chatSha256}};
  return lock;
}

} // namespace

void writeIr(const CompiledModel &model, const std::string &folder) {
  writeText(folder, "graph.mlir", model.graphIr);
  writeText(folder, "lowered.mlir", model.loweredIr);
  writeText(folder, "call.mlir", model.callIr);
}

void writePackage(const CompiledModel &model, const std::string &folder, const Progress &progress) {
  for (const EmittedFile &file : emitCpp(model.call))
    writeText(folder, file.path, file.text);
  writeIr(model, folder + "/ir");
  const WrittenWeights weights = writeWeights(model, folder, progress);
  const std::string tokenizer = writeTokenizerData(model.tokenizer);
  writeText(folder, "tokenizer.json", tokenizer);
  std::string chatSha256;
  if (model.chat) {
    const std::string chat = toJson(*model.chat).dump(2) + "\n";
    writeText(folder, "chat.json", chat);
    chatSha256 = sha256(chat);
  }
  writeText(folder, "report.json", reportOf(model).dump(1) + "\n");
  writeText(folder, "writ.lock.json",
            lockOf(model, weights, sha256(tokenizer), chatSha256).dump(1) + "\n");
}

} // namespace writ::tool
