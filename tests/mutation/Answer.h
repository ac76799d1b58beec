//===- Answer.h - what a reader says of a text ----------------------------===//
#pragma once

#include "compiler/Diagnostics/Diagnostic.h"

#include <algorithm>
#include <string>

namespace writ::test {

/// Shared by the mutation tests and the fuzz targets: a text is accepted, or refused by an error
/// that says where and under which code. Any other exception passes through, and is a bug.
struct Answer {
  std::string said;     ///< the whole error; empty where the text is accepted
  bool isPlaced = true; ///< the error has a place and a code

  bool accepted() const { return said.empty(); }
};

/// What `read` throws. Each diagnostic has to name a file, or the option that brought the text.
template <typename Read> Answer answerOf(Read read) {
  try {
    read();
    return {};
  } catch (const Error &error) {
    const auto &all = error.diagnostics();
    return {error.what(), std::all_of(all.begin(), all.end(), [](const Diagnostic &each) {
              return !each.location.file.empty() && !each.code.empty() && !each.message.empty();
            })};
  }
}

} // namespace writ::test
