//===- DataTree.h - a copy of the data folders that a test may break ------===//
#pragma once

#include "compiler/Resolve/Catalog.h"
#include "compiler/Support/FileIO.h"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace writ::test {

/// contracts/, kernel_maps/ and circuits/ in a temporary folder, removed at the end.
class DataTree {
public:
  DataTree() {
    root = (std::filesystem::temp_directory_path() / "writ-data-XXXXXX").string();
    if (!mkdtemp(root.data()))
      throw std::filesystem::filesystem_error("mkdtemp", root,
                                              std::error_code(errno, std::generic_category()));
    for (const char *folder : {"contracts", "kernel_maps", "circuits"})
      std::filesystem::copy(std::string(WRIT_SOURCE_DIR "/") + folder, root + "/" + folder,
                            std::filesystem::copy_options::recursive);
  }
  ~DataTree() { std::filesystem::remove_all(root); }
  DataTree(const DataTree &) = delete;
  DataTree &operator=(const DataTree &) = delete;

  std::string path(const std::string &file) const { return root + "/" + file; }
  std::string read(const std::string &file) const { return readFile(path(file)); }
  void write(const std::string &file, const std::string &text) const {
    writeFileAtomically(path(file), text);
  }

  /// Replaces the first occurrence of `from`, which must be there.
  void replace(const std::string &file, const std::string &from, const std::string &to) const {
    std::string text = read(file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << file << " does not hold " << from;
    write(file, text.replace(at, from.size(), to));
  }

  /// "line:column" of the first occurrence of `text` in a file, counted from 1.
  std::string position(const std::string &file, const std::string &text) const {
    const std::string all = read(file);
    const size_t at = all.find(text);
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && at != std::string::npos; ++i) {
      column = all[i] == '\n' ? 1 : column + 1;
      line += all[i] == '\n';
    }
    return std::to_string(line) + ":" + std::to_string(column);
  }

  CatalogPaths paths() const { return CatalogPaths::below(root); }
  Catalog load(const KnownFunctions &functions = {}) const {
    return Catalog::load(paths(), functions);
  }

  /// What loading says, with the folder's name taken out; "" where it succeeds.
  std::string fault(const KnownFunctions &functions = {}) const {
    try {
      load(functions);
      return "";
    } catch (const Error &error) {
      return relative(error.what());
    }
  }
  std::string relative(std::string text) const {
    const std::string prefix = root + "/";
    for (size_t at; (at = text.find(prefix)) != std::string::npos;)
      text.erase(at, prefix.size());
    return text;
  }

private:
  std::string root;
};

} // namespace writ::test
