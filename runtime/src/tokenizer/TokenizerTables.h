//===- TokenizerTables.h - a vocabulary, ready to be searched ---------------===//
//
// tokenizer.bin of a package: what tokenizer.json says, laid out so that opening it builds nothing.
// A header, then sections that begin at multiples of 8 bytes; numbers are little-endian. A table of
// slots is an open-addressed hash table: a power of two of entries, of which one in two or more is
// free; an entry is 0 or one more than what it stands for; the search begins at the hash's low bits
// and goes on to the next entry, around the end.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/tokenizer.h"

#include <array>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace writ {

static_assert(std::endian::native == std::endian::little, "tokenizer.bin is little-endian");

enum class TablesSection {
  model,           ///< text
  preTokenizer,    ///< text
  chatTemplate,    ///< text
  endOfGeneration, ///< int32 [ids]
  text,            ///< the tokens' texts, one behind the other
  ends,            ///< uint32 [tokens]: where each ends in `text`
  scores,          ///< float [tokens]; empty where the model has none
  types,           ///< uint8 [tokens], TokenType; empty: all normal
  slots,           ///< uint32: tokens by tokenHash of their text; empty texts are not in it
  merges,          ///< TablesMerge [merges], by rank
  mergeSlots,      ///< uint32: merges by pairHash; of equal pairs the first alone
  beforeSpace,     ///< text: the characters after which a text may not be cut (ScoredBpe.cpp)
  count
};

struct TablesMerge {
  int32_t left, right, result; ///< tokens
};

struct TablesHeader {
  char format[32];
  uint64_t bytes; ///< of the whole file
  int32_t bos, eos, unknown, padding;
  uint32_t flags;        ///< a sum of TablesFlag
  uint32_t longestToken; ///< bytes
  struct Section {
    uint64_t offset, bytes;
  } sections[size_t(TablesSection::count)];
};
enum TablesFlag : uint32_t { addsBosFlag = 1, addsEosFlag = 2, addsSpacePrefixFlag = 4 };

inline constexpr char tablesFormat[32] = "writ-tokenizer-tables-1";

/// FNV-1a of 64 bits (Fowler, Noll, Vo).
constexpr uint64_t tokenHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char byte : text)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash ^ hash >> 32; // the low bits of a product have few of the factor's
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
constexpr uint64_t pairHash(int32_t left, int32_t right) {
  uint64_t z = uint64_t(uint32_t(left)) << 32 | uint32_t(right);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// What a search finds: `index` where `equal(index)`, else -1, and the free entry where it ended.
struct SlotSearch {
  int32_t index = -1;
  size_t freeEntry = 0;
};
/// `slots` has at least one free entry.
template <class Equal>
SlotSearch searchSlots(std::span<const uint32_t> slots, uint64_t hash, Equal &&equal) {
  const size_t mask = slots.size() - 1;
  for (size_t entry = size_t(hash) & mask;; entry = (entry + 1) & mask) {
    if (slots[entry] == 0)
      return {-1, entry};
    if (const auto index = int32_t(slots[entry] - 1); equal(index))
      return {index, entry};
  }
}

/// The bytes of tokenizer.bin and views into them. What open() took can be searched without a
/// further check: every index and every offset in it is in range. Whether the tables say what the
/// vocabulary says is another matter, which the package's digests answer.
class TokenizerTables {
public:
  using Bytes = std::unique_ptr<const std::byte[]>;

  /// False, with `error`, where the bytes are no such tables.
  bool open(Bytes bytes, size_t size, std::string *error);

  std::string_view model() const { return textOf(TablesSection::model); }
  std::string_view preTokenizer() const { return textOf(TablesSection::preTokenizer); }
  std::string_view beforeSpace() const { return textOf(TablesSection::beforeSpace); }
  std::span<const int32_t> endOfGeneration() const { return ends_; }
  const TablesHeader &header() const { return *header_; }
  bool has(TablesFlag flag) const { return (header_->flags & flag) != 0; }

  /// Tokens are 0 .. size() - 1; other ids have no place below.
  int32_t size() const { return int32_t(tokenEnds.size()); }
  std::string_view token(int32_t id) const {
    const uint32_t begin = id == 0 ? 0 : tokenEnds[size_t(id) - 1];
    return text.substr(begin, tokenEnds[size_t(id)] - begin);
  }
  bool hasScores() const { return !scores.empty(); }
  float score(int32_t id) const { return scores[size_t(id)]; }
  TokenType type(int32_t id) const {
    return types.empty() ? TokenType::normal : static_cast<TokenType>(types[size_t(id)]);
  }
  std::span<const uint8_t> typeList() const { return types; }

  /// The token with this text, -1 where there is none; empty tokens are never found.
  int32_t find(std::string_view spelled) const {
    return searchSlots(slots, tokenHash(spelled), [&](int32_t id) { return token(id) == spelled; })
        .index;
  }
  std::span<const TablesMerge> merges() const { return mergeList; }
  /// The rank of a pair, -1 where it does not merge.
  int32_t rankOf(int32_t left, int32_t right) const {
    return searchSlots(mergeSlots, pairHash(left, right),
                       [&](int32_t rank) {
                         const TablesMerge &merge = mergeList[size_t(rank)];
                         return merge.left == left && merge.right == right;
                       })
        .index;
  }

  /// What the tables were compiled from.
  TokenizerData data() const;

private:
  std::string_view textOf(TablesSection section) const;
  template <class T> bool view(TablesSection section, std::span<const T> *out) const;
  std::string checkHeader(size_t size) const;
  std::string checkIds() const;

  Bytes bytes;
  const TablesHeader *header_ = nullptr;
  std::string_view text;
  std::span<const uint32_t> tokenEnds, slots, mergeSlots;
  std::span<const int32_t> ends_;
  std::span<const float> scores;
  std::span<const uint8_t> types;
  std::span<const TablesMerge> mergeList;
};

} // namespace writ
