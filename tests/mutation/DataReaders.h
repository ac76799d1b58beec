//===- DataReaders.h - the compiler's JSON, through all that reads it -----===//
//
// A copy of the data folders of which one file at a time is replaced. A text goes through the
// reader of its file and, where that accepts it, through everything that is built on it; the other
// files are read once and remembered.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Import/Circuit.h"
#include "compiler/Resolve/Evidence.h"
#include "tests/diagnostics/DataTree.h"
#include "tests/mutation/Answer.h"

#include <memory>

namespace writ::test {

enum class DataKind {
  contract,   ///< the catalog, and a model that uses the contract compiled
  profile,    ///< the same
  map,        ///< the same
  circuit,    ///< the same
  vocabulary, ///< the same
  invariance, ///< the same
  chat,       ///< a chat template of a circuit: read and rendered
  functions,  ///< the catalog; digested, and each function evaluated by the reference
  schema,     ///< documents checked against it
  evidence    ///< a record asked for by production
};

class DataReaders {
public:
  DataReaders();

  /// The files of a kind, relative to the tree, sorted.
  const std::vector<std::string> &files(DataKind kind) const { return byKind.at(kind); }
  const std::string &good(const std::string &file) const { return texts.at(file); }

  /// What all readers say where `file`, of this kind, has the contents `text`.
  Answer read(DataKind kind, const std::string &file, const std::string &text);

private:
  /// A model and the profile under which it is compiled.
  struct Use {
    std::shared_ptr<const ModelFile> model;
    std::string profile;
  };

  void readAs(DataKind kind, const std::string &file);
  void readCatalog(DataKind kind, const std::string &file);
  void readChat(const std::string &file) const;
  void readFunctions(const std::string &file);
  void readSchema(const std::string &file) const;
  void readRecord(const std::string &file) const;
  const Use &firstUseOf(const std::string &id);
  std::vector<std::string> compile(const Catalog &catalog, const Use &use) const;
  std::vector<Use> usesOf(DataKind kind, const std::string &file);
  KnownFunctions knownFunctions() const;
  std::string schemaOf(DataKind kind) const;
  void put(const std::string &file, const std::string &text) const;

  DataTree tree;
  std::map<DataKind, std::vector<std::string>> byKind;
  std::map<std::string, std::string> texts;
  std::map<std::string, Json> remembered; ///< by path
  Catalog catalog;                        ///< of the unchanged tree
  std::vector<Use> uses;
  std::map<std::string, size_t> useOfId; ///< contract or map → the first use that resolves to it;
                                         ///< made when it is first asked for
};

} // namespace writ::test
