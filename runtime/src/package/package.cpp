#include "package/package.h"

#include "package/stamp.h"
#include "support/digest.h"
#include "support/error.h"
#include "support/json.h"

#include <dlfcn.h>

namespace writ {
namespace {

constexpr int64_t kLockLimit = int64_t(256) << 20;
constexpr int64_t kTextLimit = int64_t(1) << 30;

/// The contents of a file whose digest is the lock's.
std::string readLocked(const std::string &folder, const LockedFile &file, int64_t limit) {
  std::string text = readFile(folder + "/" + file.name, limit);
  const std::string digest = sha256Hex(std::as_bytes(std::span(text)));
  if (digest != file.sha256)
    fail(WRIT_DIGEST_MISMATCH, "{} has SHA-256 {}, but {} names {}; compile the model again",
         file.name, digest, kLockFile, file.sha256);
  return text;
}

/// Refuses a library that is not whole, before the system maps it: running into the missing part
/// of a file ends the process.
void checkLibrary(const std::string &folder) {
  const std::string library = readFile(folder + "/" + kLibraryFile, kTextLimit);
  const std::string digestFile = std::string(kLibraryFile) + kDigestSuffix;
  const std::string text = readFile(folder + "/" + digestFile, 4096);
  const std::string named = text.substr(0, text.find(' '));
  if (!isSha256Hex(named))
    fail(WRIT_BAD_PACKAGE,
         "{} does not begin with a SHA-256, as sha256sum writes it; build the "
         "package again",
         digestFile);
  const std::string digest = sha256Hex(std::as_bytes(std::span(library)));
  if (digest != named)
    fail(WRIT_DIGEST_MISMATCH,
         "{} ({} bytes) has SHA-256 {}, but {} names {}; build the package again", kLibraryFile,
         library.size(), digest, digestFile, named);
}

} // namespace

Library::Library(const std::string &path) : path(path) {
  handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail(WRIT_IO_ERROR, "cannot load '{}': {}", path, ::dlerror());
}

Library::~Library() {
  if (handle)
    ::dlclose(handle);
}

void *Library::symbol(const char *name) const {
  void *address = ::dlsym(handle, name);
  if (!address)
    fail(WRIT_BAD_PACKAGE, "'{}' does not export {}()", path, name);
  return address;
}

Package::Package(const std::string &path, const writ_model_desc *linked,
                 const writ_open_options &options)
    : folder(path) {
  lockData = parseLock(readFile(folder + "/" + kLockFile, kLockLimit));
  FileBytes tables = readBytes(folder + "/" + lockData.tokenizer.name, kTextLimit);
  weightsFile = Weights(folder, lockData);
  checkDigests(tables, options);
  readTokenizer(std::move(tables));
  readChat();
  desc = linked;
  if (!desc) {
    // Last, because loading runs the library's code.
    checkLibrary(folder);
    library = std::make_unique<Library>(folder + "/" + kLibraryFile);
    using Entry = const writ_model_desc *(*)();
    desc = reinterpret_cast<Entry>(library->symbol("writ_model"))();
  }
  checkModel(desc, lockData);
  if (tokenizerData->size() > desc->vocabulary)
    fail(WRIT_BAD_PACKAGE, "{} has {} tokens, but the model's vocabulary is {}",
         lockData.tokenizer.name, tokenizerData->size(), desc->vocabulary);
}

void Package::checkDigests(const FileBytes &tables, const writ_open_options &options) {
  const auto log = [&](int32_t level, const std::string &message) {
    if (options.log)
      options.log(options.log_user, level, message.c_str());
  };
  const StampResult result = checkStamped(
      folder,
      {{lockData.tokenizer, tables.identity, [&] { return sha256Hex(tables.bytes()); }},
       {lockData.weights, weightsFile.identity(), [&] { return weightsFile.hash(options); }}},
      options.verify != 0);
  hashed = result != StampResult::trusted;
  if (!hashed)
    log(WRIT_LOG_DEBUG, lockData.weights.name + ": checked by an earlier open");
  else if (result == StampResult::unstamped)
    log(WRIT_LOG_INFO, fmt::format("cannot write {}/{}; {} will be hashed at each open", folder,
                                   kStampFile, lockData.weights.name));
}

void Package::readTokenizer(FileBytes tables) {
  std::string error;
  tokenizerData = openTokenizer(std::move(tables.data), size_t(tables.identity.size), &error);
  if (!tokenizerData)
    fail(WRIT_BAD_PACKAGE, "{}: {}", lockData.tokenizer.name, error);
}

void Package::readChat() {
  std::string error;
  if (lockData.chat.name.empty()) {
    selectChatTemplate({}, "", &faultOfChat); // null: the model has none
    return;
  }
  const std::string text = readLocked(folder, lockData.chat, kTextLimit);
  const nlohmann::json json = parseJson(text, lockData.chat.name.c_str());
  if (!parseChatFault(json, &faultOfChat, &error))
    fail(WRIT_BAD_PACKAGE, "{}: {}", lockData.chat.name, error);
  if (!faultOfChat.empty())
    return;
  ChatTemplate chat;
  if (!parseChatTemplate(json, &chat, &error))
    fail(WRIT_BAD_PACKAGE, "{}: {}", lockData.chat.name, error);
  if (!chat.stop.empty()) {
    const std::vector<int32_t> ids = tokenizerData->encode(chat.stop, {false, true});
    if (ids.size() == 1)
      chatStop = ids.front();
  }
  chatTemplate = std::move(chat);
}

writ_status Package::weightsHold(writ_error *error) const {
  if (const writ_status status = weightsFile.unchanged(error); status != WRIT_OK)
    return status;
  if (weightsLost.load())
    return report(error, WRIT_IO_ERROR,
                  "{}: a part of it could not be read; open the package again",
                  lockData.weights.name);
  return WRIT_OK;
}

bool Package::containFault(const void *address) const {
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
  if (!weightsFile.replaceFrom(address))
    return false;
  weightsLost.store(true);
  return true;
}

bool Package::endsGeneration(int32_t id) const {
  return id >= 0 && (id == chatStop || tokenizerData->endsGeneration(id));
}

void checkModel(const writ_model_desc *model, const Lock &lock) {
  if (!model)
    fail(WRIT_BAD_PACKAGE, "writ_model() returned null");
  if (model->abi != WRIT_MODEL_ABI)
    fail(WRIT_VERSION_MISMATCH,
         "the model's code has ABI {}, this library runs {}; compile the model again", model->abi,
         WRIT_MODEL_ABI);
  const auto refuse = [&](bool bad, const char *field, auto value, const char *rule) {
    if (bad)
      fail(WRIT_BAD_PACKAGE, "the model's code: {} is {}, expected {}", field, value, rule);
  };
  const auto same = [&](const char *field, const char *text, const std::string &locked,
                        writ_status status) {
    refuse(!text, field, "null", "text");
    if (text != locked)
      fail(status, "the model's code has {} {}, but {} names {}; they are not of one package",
           field, text, kLockFile, locked);
  };
  same("name", model->name, lock.modelName, WRIT_BAD_PACKAGE);
  same("circuit", model->circuit, lock.circuit, WRIT_BAD_PACKAGE);
  same("profile", model->profile, lock.profile, WRIT_BAD_PACKAGE);
  same("model_sha256", model->model_sha256, lock.modelSha256, WRIT_DIGEST_MISMATCH);
  same("circuit_sha256", model->circuit_sha256, lock.circuitSha256, WRIT_DIGEST_MISMATCH);
  same("profile_sha256", model->profile_sha256, lock.profileSha256, WRIT_DIGEST_MISMATCH);
  same("resolution_sha256", model->resolution_sha256, lock.resolutionSha256, WRIT_DIGEST_MISMATCH);
  same("call_sha256", model->call_sha256, lock.callSha256, WRIT_DIGEST_MISMATCH);
  if ((model->production != 0) != lock.production)
    fail(WRIT_BAD_PACKAGE,
         "the model's code has production {}, but {} says {}; they are not of one package",
         model->production, kLockFile, lock.production);
  if (model->weights_bytes != lock.weightsBytes)
    fail(WRIT_BAD_PACKAGE,
         "the model's code has weights_bytes {}, but {} says weights.bytes {}; they are not of one "
         "package",
         model->weights_bytes, kLockFile, lock.weightsBytes);
  refuse(model->vocabulary < 1 || model->vocabulary > INT32_MAX, "vocabulary", model->vocabulary,
         "1 to 2^31 - 1");
  refuse(model->context_length < 1 || model->context_length > INT32_MAX, "context_length",
         model->context_length, "1 to 2^31 - 1");
  refuse(model->row_arena_bytes < 0, "row_arena_bytes", model->row_arena_bytes, "0 or more");
  refuse(model->logits_offset < 0, "logits_offset", model->logits_offset, "0 or more");
  refuse(model->output_arena_bytes < model->vocabulary * int64_t(sizeof(float)) ||
             model->output_arena_bytes - model->vocabulary * int64_t(sizeof(float)) <
                 model->logits_offset,
         "output_arena_bytes", model->output_arena_bytes, "room for the logits at logits_offset");
  refuse(!model->prefill || !model->decode, "an entry", "null", "prefill and decode");
  refuse(model->call_count > 0 && !model->calls, "calls", "null", "a table");
  for (uint32_t i = 0; i < model->call_count; ++i) {
    const writ_call_info &call = model->calls[i];
    refuse(!call.op || !call.family || !call.contract || !call.provider, "calls", i,
           "an op, a family, a contract and a provider in each entry");
  }
  for (const writ_provider *provider : {model->sample, model->log_probability})
    refuse(provider && (!provider->id || !provider->bodies[WRIT_ISA_SCALAR]), "a provider",
           "incomplete", "an id and a scalar body");
  refuse(model->kv_group_count > 0 && !model->kv_groups, "kv_groups", "null", "a table");
  for (uint32_t i = 0; i < model->kv_group_count; ++i) {
    const writ_kv_group &group = model->kv_groups[i];
    refuse(!group.storage || group.layers < 1 || group.kv_heads < 1 || group.head_dim < 1 ||
               group.row_bytes < 1 || group.window < 0,
           "kv_groups", i, "a storage, and dimensions of 1 or more, in each group");
  }
}

} // namespace writ
