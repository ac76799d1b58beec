//===- WritePackage.cpp - the files of a package --------------------------===//
#include "compiler/Tools/writ/WritePackage.h"

#include "compiler/Emit/EmitCpp.h"
#include "compiler/Emit/PackWeights.h"
#include "compiler/Import/SafetensorsWriter.h"
#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Report.h"
#include "writ/kernel_table.h"
#include "writ/package_format.h"
#include "writ/packed_layout.h"
#include "writ/writ.h"

#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

/// Of a weight's source that is packed at one time.
constexpr int64_t kSliceBytes = int64_t(1) << 20;

/// Creates the folder of a file and writes it.
void writeText(const std::string &folder, const std::string &file, const std::string &text) {
  const fs::path path = fs::path(folder) / file;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    throw Error({path.parent_path().string()}, "E002", "cannot be made: " + error.message());
  writeFileAtomically(path.string(), text);
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

/// Packs one weight, a few panels of rows at a time: neither the source nor the packed bytes are
/// ever in memory as a whole. Panels are independent, so slices of whole panels give the bytes of
/// the whole. The file is read and not mapped, so that one that is cut off meanwhile is an error
/// like any other.
void writeWeight(const CompiledModel &model, const PackedWeight &weight,
                 SafetensorsWriter &writer) {
  const auto [n, k] = extents(weight);
  const TensorInfo *tensor =
      weight.values.empty() ? model.file->findTensor(weight.tensor) : nullptr;
  const std::span<const std::byte> values = std::as_bytes(std::span(weight.values));
  const size_t sourceBytes = tensor ? model.file->bytes(*tensor).size() : values.size();
  const int64_t rowBytes = fileBytes(weight.storage, 1, k);
  auto require = [&](bool fits) {
    if (!fits)
      throw Error({kWeightsFile}, "E053",
                  fmt::format("weight '{}' ({} as {}) does not fit its place in the package",
                              weight.name, weight.storage, weight.layout));
  };
  require(rowBytes > 0 && rowBytes * n == int64_t(sourceBytes));
  const int64_t slice = alignUp(std::max<int64_t>(1, kSliceBytes / rowBytes), kPanelRows);
  int64_t written = 0;
  std::vector<std::byte> packed, read;
  for (int64_t first = 0; first < n; first += slice) {
    const int64_t rows = std::min(slice, n - first);
    const int64_t bytes = packedBytes(weight.layout, weight.storage, rows, k);
    require(bytes > 0);
    packed.assign(size_t(bytes), std::byte{0});
    std::span<const std::byte> source;
    if (tensor) {
      read.resize(size_t(rows * rowBytes));
      model.file->read(*tensor, size_t(first * rowBytes), read);
      source = read;
    } else {
      source = values.subspan(size_t(first * rowBytes), size_t(rows * rowBytes));
    }
    require(packWeight(weight.layout, weight.storage, rows, k, source.data(), packed.data()));
    writer.write({reinterpret_cast<const char *>(packed.data()), packed.size()});
    written += bytes;
  }
  require(written == weight.bytes);
}

WrittenWeights writeWeights(const CompiledModel &model, const std::string &folder,
                            const Progress &progress) {
  const std::string path = folder + "/" + kWeightsFile;
  std::vector<SafetensorsEntry> entries;
  for (const PackedWeight &weight : model.call.weights)
    entries.push_back({weight.name, "U8", {weight.bytes}});
  SafetensorsWriter writer(path, entries, {{"format", "writ-packed"}});
  for (size_t i = 0; i < model.call.weights.size(); ++i) {
    const PackedWeight &weight = model.call.weights[i];
    if (int64_t(writer.offset(i)) != weight.offset)
      throw Error({path}, "E053",
                  fmt::format("weight '{}' lies at {}, the plan says {}", weight.name,
                              writer.offset(i), weight.offset));
    writeWeight(model, weight, writer);
    progress(double(weight.offset + weight.bytes) / double(model.call.weightsBytes));
  }
  writer.commit();
  return {sha256File(path), writer.dataOffset()};
}

/// Path in the package → digest, of the files that no other field of the lock names.
using FileDigests = std::map<std::string, std::string>;

nlohmann::json lockOf(const CompiledModel &model, const WrittenWeights &weights,
                      const std::string &tokenizerSha256, const std::string &tablesSha256,
                      const std::string &chatSha256, const FileDigests &files) {
  nlohmann::json lock;
  lock["schema"] = kLockSchema;
  lock["package_version"] = kPackageVersion;
  lock["writ_version"] = writ_version();
  lock["production"] = model.call.production;
  lock["target"] = model.call.target;
  if (model.leastIsa != WRIT_ISA_SCALAR) // which every machine has
    lock["least_isa"] = writ_isa_name(model.leastIsa);
  lock["model"] = {
      {"name", model.call.name}, {"format", model.file->format()}, {"sha256", model.fileSha256}};
  lock["circuit"] = {{"id", model.instance.circuit}, {"sha256", model.instance.circuitDigest}};
  lock["profile"] = {{"id", model.profile},
                     {"sha256", model.catalog.profiles().at(model.profile).digest}};
  for (const ResolvedRequirement &resolved : model.resolutions) {
    const std::string &id = resolved.resolution.provider;
    addDecision(lock, resolved.requirement.name, resolved.requirement.phase, resolved.resolution);
    const writ_provider *provider = writ_find_provider(id.c_str());
    lock["providers"][id]["source"] = provider ? provider->source_sha256 : "";
  }
  lock["resolution_sha256"] = model.call.resolutionSha256;
  lock["weights"] = {{"file", kWeightsFile},
                     {"sha256", weights.sha256},
                     {"bytes", model.call.weightsBytes},
                     {"data_offset", weights.dataOffset}};
  lock["tokenizer"] = {{"file", kTokenizerFile},
                       {"sha256", tokenizerSha256},
                       {"tables", {{"file", kTokenizerTables}, {"sha256", tablesSha256}}}};
  if (!chatSha256.empty())
    lock["chat"] = {{"file", kChatFile}, {"sha256", chatSha256}};
  lock["files"] = files;
  return lock;
}

/// The three stages, each under the name of its file.
std::vector<EmittedFile> irOf(const CompiledModel &model) {
  return {{"graph.mlir", model.graphIr},
          {"lowered.mlir", model.loweredIr},
          {fs::path(kCallFile).filename().string(), model.callIr}};
}

} // namespace

void addDecision(nlohmann::json &lock, const std::string &op, const std::string &phase,
                 const Resolution &resolution) {
  lock["contracts"][resolution.contract] = resolution.contractDigest;
  lock["providers"][resolution.provider]["map"] = resolution.mapDigest;
  lock["resolutions"][op][phase] = {{"contract", resolution.contract},
                                    {"provider", resolution.provider}};
}

std::span<const char *const> packageEntries() {
  static constexpr const char *entries[] = {
      kLockFile, kWeightsFile, kTokenizerFile,   kTokenizerTables,
      kChatFile, kReportFile,  "CMakeLists.txt", "src",
      "ir",      "lib",        "build.log",      kStampFile};
  return entries;
}

void writeIr(const CompiledModel &model, const std::string &folder) {
  for (const EmittedFile &stage : irOf(model))
    writeText(folder, stage.path, stage.text);
}

void writePackage(const CompiledModel &model, const std::string &folder, const Progress &progress) {
  std::vector<EmittedFile> texts = emitCpp(model.call);
  for (EmittedFile &stage : irOf(model))
    texts.push_back({"ir/" + stage.path, std::move(stage.text)});
  texts.push_back({kReportFile, reportOf(model).dump(1) + "\n"});
  FileDigests files;
  for (const EmittedFile &file : texts) {
    writeText(folder, file.path, file.text);
    files[file.path] = sha256(file.text);
  }
  const WrittenWeights weights = writeWeights(model, folder, progress);
  model.file->requireUnchanged(); // the lock has the digest of the file that was opened
  const std::string tokenizer = writeTokenizerData(model.tokenizer);
  writeText(folder, kTokenizerFile, tokenizer);
  std::string error;
  const std::optional<std::string> tables = compileTokenizer(model.tokenizer, &error);
  if (!tables) // it was looked at when it was read
    throw Error({folder + "/" + kTokenizerFile}, "E053", error);
  writeText(folder, kTokenizerTables, *tables);
  std::string chatSha256;
  if (model.chat || model.chatFault) {
    // Without the place: a package names no path of the machine that made it.
    const nlohmann::json json =
        model.chat ? toJson(*model.chat) : chatFaultToJson(model.chatFault->message);
    const std::string chat = json.dump(2) + "\n";
    writeText(folder, kChatFile, chat);
    chatSha256 = sha256(chat);
  }
  writeText(folder, kLockFile,
            lockOf(model, weights, sha256(tokenizer), sha256(*tables), chatSha256, files).dump(1) +
                "\n");
}

} // namespace writ::tool
