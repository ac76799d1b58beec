//===- PackageReaders.h - a package's JSON, through all that reads it -----===//
//
// A small package whose files are replaced one at a time. Where the lock names a file by its
// digest, the digest is made to fit, so that a text gets to its reader.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/mutation/Answer.h"
#include "tests/runtime/toy_package.h"

#include <map>

namespace writ::test {

enum class PackagePart {
  lock,      ///< opened by the runtime, and read by `writ explain`
  tokenizer, ///< opened by the runtime; texts and a conversation tokenized
  chat,      ///< the same
  report,    ///< read by `writ explain`
  ids        ///< no file: the token ids that a user gives
};

class PackageReaders {
public:
  PackageReaders();

  const std::string &good(PackagePart part) const { return texts.at(part); }
  /// What all readers of the part say where it has the contents `text`.
  Answer read(PackagePart part, const std::string &text) const;

private:
  std::string file(PackagePart part) const;
  Answer open() const;
  Answer explain() const;

  toy::TemporaryFolder folder;
  std::map<PackagePart, std::string> texts;
};

} // namespace writ::test
