//===- PreTokenizer.h - cuts a text into the pieces that merges stay inside -===//
#pragma once

#include "writ/tokenizer.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace writ {

/// The compiled patterns of one pre-tokenizer. Immutable; may be shared between threads.
class PreTokenizer {
public:
  /// Null, with `error`, where a pattern does not compile.
  static std::unique_ptr<PreTokenizer> make(const PreTokenizerSpec &spec, std::string *error);
  ~PreTokenizer();
  PreTokenizer(const PreTokenizer &) = delete;

  /// Calls `piece(begin, end)` for consecutive, non-empty ranges that cover `text`. The first
  /// pattern cuts the text into its matches and what lies between them, each further one cuts those
  /// pieces. A look-ahead sees no further than the piece. `text` is valid UTF-8 but for surrogates.
  void split(std::string_view text, const std::function<void(size_t, size_t)> &piece) const;

private:
  PreTokenizer() = default;
  std::vector<pcre2_real_code_8 *> patterns;
};

} // namespace writ
