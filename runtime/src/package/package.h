//===- package.h - an opened package --------------------------------------===//
#pragma once

#include "package/lock.h"
#include "package/weights.h"
#include "writ/chat.h"
#include "writ/model_abi.h"
#include "writ/tokenizer.h"
#include "writ/writ.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace writ {

/// A shared library; closed with its owner.
class Library {
public:
  Library() = default;
  /// `path` has a slash, or the system would search for the name. Throws Failure.
  explicit Library(const std::string &path);
  ~Library();
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  /// Throws Failure where the library does not export `name`.
  void *symbol(const char *name) const;

private:
  std::string path;
  void *handle = nullptr;
};

/// Everything that sessions share. Immutable once open; thread-safe.
class Package {
public:
  /// Throws Failure. `linked` is null where the model is the package's lib/libmodel.so.
  Package(const std::string &folder, const writ_model_desc *linked,
          const writ_open_options &options);
  Package(const Package &) = delete;
  Package &operator=(const Package &) = delete;

  const std::string &path() const { return folder; }
  const Lock &lock() const { return lockData; }
  const writ_model_desc &model() const { return *desc; }
  const std::byte *weights() const { return weightsFile.data(); }
  /// By this open; otherwise an earlier one had hashed them.
  bool weightsHashed() const { return hashed; }
  const Tokenizer &tokenizer() const { return *tokenizerData; }
  /// Null where the model has no chat template, or one that cannot be used.
  const ChatTemplate *chat() const { return chatTemplate ? &*chatTemplate : nullptr; }
  /// Why there is none, and what to do.
  const std::string &chatFault() const { return faultOfChat; }
  bool endsGeneration(int32_t id) const;

  /// Before and after each run: what the run reads is the weights that were opened.
  writ_status weightsHold(writ_error *error) const;
  /// writ_package_contain_fault.
  bool containFault(const void *address) const;

  /// Sessions that use it.
  std::atomic<int64_t> &sessions() const { return sessionCount; }

private:
  void checkDigests(const FileBytes &tables, const writ_open_options &options);
  void readTokenizer(FileBytes tables);
  void readChat();

  std::string folder;
  Lock lockData;
  std::unique_ptr<Tokenizer> tokenizerData;
  std::optional<ChatTemplate> chatTemplate;
  std::string faultOfChat;
  int32_t chatStop = -1; ///< the template's stop token
  Weights weightsFile;
  bool hashed = false;
  std::unique_ptr<Library> library;
  const writ_model_desc *desc = nullptr;
  mutable std::atomic<int64_t> sessionCount{0};
  mutable std::atomic<bool> weightsLost{false}; ///< set by a signal handler
};

/// Throws Failure where a description is of another ABI, contradicts the lock, or cannot be run.
void checkModel(const writ_model_desc *model, const Lock &lock);

} // namespace writ

struct writ_package : writ::Package {
  using Package::Package;
};
