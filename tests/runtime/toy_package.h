//===- toy_package.h - a package of the toy model in a temporary folder ----===//
#pragma once

#include "toy_model.h"
#include "writ/writ.h"

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace toy {

using Json = nlohmann::json;

/// A folder that goes with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string path(const std::string &name = "") const;

private:
  std::filesystem::path folder;
};

void writeFile(const std::string &path, std::string_view contents);
std::string readFile(const std::string &path);
std::string sha256(std::string_view bytes);

/// Ids of the toy vocabulary.
int32_t idOf(const std::string &token);
inline const std::string kEnd = "<|im_end|>";

/// Writes weights, tokenizer, chat template and lock (not the library). `change` may alter the
/// lock.
void writePackage(const std::string &folder, const std::function<void(Json &lock)> &change = {});
/// Replaces the lock of a package.
void changeLock(const std::string &folder, const std::function<void(Json &lock)> &change);

/// A package of `model` that is open, with one session of `options`.
class Opened {
public:
  explicit Opened(const writ_model_desc *model, const writ_session_options &options);
  Opened(const writ_model_desc *model, const std::function<void(writ_session_options &)> &change);
  ~Opened();
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;

  writ_sequence sequence();
  /// Feeds tokens in one call; throws the error's text.
  void feed(writ_sequence sequence, const std::vector<int32_t> &ids,
            int32_t outputs = WRIT_OUTPUTS_LAST);
  std::vector<float> logits(int64_t output = 0) const;
  std::string file(const std::string &name) const { return folder.path(name); }

  writ_package *package = nullptr;
  writ_session *session = nullptr;
  writ_error error{};

private:
  TemporaryFolder folder;
};

/// Tokens without the one whose logits are not finite, the same for the same seed.
std::vector<int32_t> tokens(int64_t count, uint64_t seed);

} // namespace toy
