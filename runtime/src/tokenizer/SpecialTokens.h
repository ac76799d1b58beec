//===- SpecialTokens.h - finds the tokens that a text spells literally ------===//
#pragma once

#include "TokenizerTables.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace writ {

/// Control, unknown and user-defined tokens, found as llama.cpp finds them: the longest token takes
/// all its places first, from left to right, then the next one what is left. Equal lengths go by
/// id. Immutable; may be shared between threads.
class SpecialTokens {
public:
  explicit SpecialTokens(const TokenizerTables &tables);

  /// A range of the text: token `id`, or plain text where `id` is negative.
  struct Part {
    size_t begin, end;
    int32_t id;
  };
  /// Consecutive, non-empty parts that cover the concatenated segments. Control and unknown tokens
  /// are found only inside stretches of segments with parseSpecial, user-defined ones anywhere.
  /// `text` is the concatenation of the segments.
  std::vector<Part> partition(std::string_view text, std::span<const TextSegment> segments) const;

private:
  struct Token {
    int32_t id;
    size_t length;
    bool userDefined;
  };
  struct Node {
    std::vector<std::pair<unsigned char, uint32_t>> next; ///< few: searched in order
    int32_t token = -1;                                   ///< index into `tokens`
  };
  uint32_t child(uint32_t node, unsigned char byte) const; ///< 0 where there is none
  /// The longest token in [begin, end), as an index into `tokens`; only user-defined ones reach
  /// beyond specialEnd. -1 where there is none.
  int32_t longest(std::string_view text, size_t begin, size_t end, size_t specialEnd) const;

  std::vector<Token> tokens; ///< by priority
  std::vector<Node> nodes;   ///< a trie; node 0 is the root
  std::array<uint32_t, 256> first{};
};

} // namespace writ
