//===- package.cpp - the C API: packages ----------------------------------===//

#include "package/package.h"

#include "kv/kv_layout.h"
#include "support/error.h"
#include "support/struct_size.h"

using namespace writ;

namespace {

writ_status open(const char *path, const writ_model_desc *linked, const writ_open_options *given,
                 writ_package **package, writ_error *error) {
  if (!package)
    return report(error, WRIT_INVALID_ARGUMENT, "package is null");
  *package = nullptr;
  if (!path || !*path)
    return report(error, WRIT_INVALID_ARGUMENT, "path is {}", path ? "empty" : "null");
  writ_open_options options;
  if (const writ_status status =
          readOptions(given, writ_open_options_init, "writ_open_options", &options, error);
      status != WRIT_OK)
    return status;
  return guarded(error, [&] {
    *package = new writ_package(path, linked, options);
    return WRIT_OK;
  });
}

int64_t kvBytesPerToken(const writ_model_desc &model) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < model.kv_group_count; ++i) {
    const writ_kv_group &group = model.kv_groups[i];
    const auto layout = KvLayout::make(
        {group.layers, group.kv_heads, ByteCount(group.row_bytes), TokenCount(1), PageCount(1)});
    bytes += layout ? layout->bytesPerToken().raw() : 0;
  }
  return bytes;
}

} // namespace

extern "C" {

writ_status writ_package_open(const char *path, const writ_open_options *options,
                              writ_package **package, writ_error *error) {
  return open(path, nullptr, options, package, error);
}

writ_status writ_package_open_linked(const writ_model_desc *model, const char *path,
                                     const writ_open_options *options, writ_package **package,
                                     writ_error *error) {
  if (!model) {
    if (package)
      *package = nullptr;
    return report(error, WRIT_INVALID_ARGUMENT, "model is null");
  }
  return open(path, model, options, package, error);
}

int32_t writ_package_contain_fault(const writ_package *package, const void *address) {
  return package && package->containFault(address);
}

writ_status writ_package_close(writ_package *package, writ_error *error) {
  if (!package)
    return WRIT_OK;
  if (const int64_t sessions = package->sessions().load(); sessions > 0)
    return report(error, WRIT_BUSY, "{} sessions of the package live; destroy them first",
                  sessions);
  return guarded(error, [&] {
    delete package;
    return WRIT_OK;
  });
}

writ_status writ_package_get_info(const writ_package *package, writ_package_info *info,
                                  writ_error *error) {
  if (!package)
    return report(error, WRIT_INVALID_ARGUMENT, "package is null");
  const Lock &lock = package->lock();
  const writ_model_desc &model = package->model();
  const Tokenizer &tokenizer = package->tokenizer();
  writ_package_info value{};
  value.production = model.production != 0;
  value.package_version = kPackageVersion;
  value.path = package->path().c_str();
  value.model_name = lock.modelName.c_str();
  value.model_sha256 = lock.modelSha256.c_str();
  value.circuit = lock.circuit.c_str();
  value.circuit_sha256 = lock.circuitSha256.c_str();
  value.profile = lock.profile.c_str();
  value.profile_sha256 = lock.profileSha256.c_str();
  value.resolution_sha256 = lock.resolutionSha256.c_str();
  value.weights_sha256 = lock.weights.sha256.c_str();
  value.vocabulary = model.vocabulary;
  value.context_length = model.context_length;
  value.weights_bytes = model.weights_bytes;
  value.kv_bytes_per_token = kvBytesPerToken(model);
  value.row_arena_bytes = model.row_arena_bytes;
  value.output_arena_bytes = model.output_arena_bytes;
  value.bos_token = tokenizer.bos();
  value.eos_token = tokenizer.eos();
  value.has_chat_template = package->chat() != nullptr;
  value.weights_hashed = package->weightsHashed();
  value.call_count = model.call_count;
  return writeResult(value, "writ_package_info", info, error);
}

const writ_model_desc *writ_package_model(const writ_package *package) {
  return package ? &package->model() : nullptr;
}

} // extern "C"
