//===- ScoredBpe.cpp - the "llama" model: byte-pair encoding by scores -------===//
//
// SentencePiece's BPE (Kudo and Richardson 2018) as llama.cpp applies it. A text is cut at special
// tokens; in each part spaces become U+2581, and then the adjacent pair whose concatenation is the
// token with the highest score, the leftmost of equals, becomes one until no pair is a token. A
// character that is no token becomes the tokens of its bytes. Nothing is normalized.
//
// Control, unknown and byte tokens are not merged into, as in SentencePiece: a text that spells one
// stays text. llama.cpp differs here where other tokens happen to meet in the spelling of one.
//
//===----------------------------------------------------------------------===//
#include "TokenizerModels.h"
#include "VocabularyTokenizer.h"

#include <algorithm>
#include <array>
#include <queue>
#include <set>
#include <unordered_set>

namespace writ {
namespace {

constexpr std::string_view space = "\xE2\x96\x81"; ///< U+2581, how a vocabulary writes a space

/// The length that a character's first byte announces; the bytes that follow are not looked at.
size_t announcedLength(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// A character, or a token that characters were merged into. Merged-away symbols have length 0.
struct Symbol {
  uint32_t begin, length; ///< in the text of the piece
  int32_t previous, next; ///< indices, -1 at the ends
};

/// A pair that can be merged, as it was when it was queued.
struct Candidate {
  float score;
  uint32_t length; ///< of both symbols
  int32_t left, right;

  /// std::priority_queue puts the greatest first: the highest score, then the leftmost.
  bool operator<(const Candidate &other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

/// The token that plain text `text` is, -1 where there is none. `Vocabulary` or `TokenizerTables`.
template <class Tokens> int32_t textToken(const Tokens &tokens, std::string_view text) {
  int32_t id = tokens.find(text);
  if (id < 0)
    return -1;
  TokenType type = tokens.type(id);
  bool reserved =
      type == TokenType::control || type == TokenType::unknown || type == TokenType::byte;
  return reserved ? -1 : id;
}

/// Every byte needs a token of its own: its entry, or for ASCII its character.
template <class Tokens>
bool findByteTokens(const Tokens &tokens, std::array<int32_t, 256> *out, std::string *error) {
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string entry = byteEntry(static_cast<uint8_t>(byte));
    int32_t id = tokens.find(entry);
    if (id >= 0 && tokens.type(id) != TokenType::byte) {
      *error = "token " + std::to_string(id) + " ('" + entry + "') has type " +
               std::to_string(static_cast<int32_t>(tokens.type(id))) +
               ", but stands for a byte (type 6)";
      return false;
    }
    char character = static_cast<char>(byte);
    if (id < 0 && byte < 0x80)
      id = textToken(tokens, {&character, 1});
    if (id < 0) {
      *error = "the vocabulary has no token '" + entry + "'; every byte needs one";
      return false;
    }
    (*out)[byte] = id;
  }
  return true;
}

class ScoredBpe final : public VocabularyTokenizer {
public:
  using VocabularyTokenizer::VocabularyTokenizer;

  bool prepare(std::string *error);

private:
  void encodePlain(std::string_view text, bool first, std::vector<int32_t> &ids) const override;
  void encodePiece(std::string_view piece, std::vector<int32_t> &ids) const;
  std::string spell(std::string_view entry) const override;
  int32_t idOfText(std::string_view text) const { return textToken(tables, text); }

  std::array<int32_t, 256> idOfByte{};
  /// The characters that stand before a U+2581 in some token. After any other character no merge
  /// can reach over a U+2581, so that a text may be cut there: its parts merge independently.
  std::unordered_set<std::string_view> beforeSpace;
};

bool ScoredBpe::prepare(std::string *error) {
  if (!findByteTokens(tables, &idOfByte, error))
    return false;
  const std::string_view characters = tables.beforeSpace();
  for (size_t i = 0, length; i < characters.size(); i += length) {
    length = announcedLength(characters[i]);
    beforeSpace.insert(characters.substr(i, length));
  }
  return true;
}

void ScoredBpe::encodePlain(std::string_view text, bool first, std::vector<int32_t> &ids) const {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 2);
  if (first && tables.has(addsSpacePrefixFlag))
    escaped += space;
  for (char byte : text)
    if (byte == ' ')
      escaped += space;
    else
      escaped += byte;

  std::string_view rest = escaped, before;
  size_t end = 0; // of the piece under way, which begins at `rest`
  while (end < rest.size()) {
    std::string_view character = rest.substr(end, announcedLength(rest[end]));
    if (character == space && end > 0 && !beforeSpace.contains(before)) {
      encodePiece(rest.substr(0, end), ids);
      rest.remove_prefix(end);
      end = 0;
    }
    end += character.size();
    before = character;
  }
  encodePiece(rest, ids);
}

void ScoredBpe::encodePiece(std::string_view piece, std::vector<int32_t> &ids) const {
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (size_t i = 0; i < piece.size();) {
    auto index = static_cast<int32_t>(symbols.size());
    size_t length = std::min(announcedLength(piece[i]), piece.size() - i);
    symbols.push_back(
        {static_cast<uint32_t>(i), static_cast<uint32_t>(length), index - 1, index + 1});
    i += length;
  }
  symbols.back().next = -1;
  auto symbol = [&](int32_t index) -> Symbol & { return symbols[static_cast<size_t>(index)]; };

  std::priority_queue<Candidate> queue;
  auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0)
      return;
    uint32_t length = symbol(left).length + symbol(right).length;
    if (length > tables.header().longestToken)
      return;
    if (int32_t id = idOfText(piece.substr(symbol(left).begin, length)); id >= 0)
      queue.push({tables.score(id), length, left, right});
  };
  for (int32_t i = 0; symbol(i).next >= 0; ++i)
    consider(i, i + 1);

  while (!queue.empty()) {
    Candidate candidate = queue.top();
    queue.pop();
    Symbol &left = symbol(candidate.left), &right = symbol(candidate.right);
    // Symbols only grow or go away: with their length as it was, they are still neighbours.
    if (!left.length || !right.length || left.length + right.length != candidate.length)
      continue;
    left.length += right.length;
    right.length = 0;
    left.next = right.next;
    if (left.next >= 0)
      symbol(left.next).previous = candidate.left;
    consider(left.previous, candidate.left);
    consider(candidate.left, left.next);
  }

  for (int32_t i = 0; i >= 0; i = symbol(i).next) {
    std::string_view text = piece.substr(symbol(i).begin, symbol(i).length);
    if (int32_t id = idOfText(text); id >= 0) {
      ids.push_back(id);
      continue;
    }
    for (char byte : text)
      ids.push_back(idOfByte[static_cast<unsigned char>(byte)]);
  }
}

std::string ScoredBpe::spell(std::string_view entry) const {
  std::string out;
  size_t begin = 0;
  for (size_t found; (found = entry.find(space, begin)) != std::string::npos;
       begin = found + space.size())
    out.append(entry, begin, found - begin) += ' ';
  return out.append(entry, begin);
}

bool compile(const Vocabulary &vocabulary, ModelTables *tables, std::string *error) {
  const TokenizerData &data = vocabulary.data;
  if (data.scores.empty()) {
    *error = "tokenizer model '" + data.model + "' merges by scores, but there are none";
    return false;
  }
  if (!data.preTokenizer.empty() || !data.merges.empty()) {
    *error = "tokenizer model '" + data.model + "' merges by scores and has no " +
             (data.merges.empty() ? "pre-tokenizer" : "list of merges");
    return false;
  }
  std::array<int32_t, 256> ignored{};
  if (!findByteTokens(vocabulary, &ignored, error))
    return false;
  std::set<std::string_view> before; // in an order of its own
  for (const std::string &token : data.tokens) {
    std::string_view last; // the character in front of `i`
    for (size_t i = 0; i < token.size(); i += last.size()) {
      std::string_view character = std::string_view(token).substr(i, announcedLength(token[i]));
      if (character == space && i > 0)
        before.insert(last);
      last = character;
    }
  }
  for (const std::string_view character : before)
    tables->beforeSpace += character;
  return true;
}

std::unique_ptr<Tokenizer> open(TokenizerTables tables, std::string *error) {
  if (!tables.hasScores()) {
    *error = "tokenizer model '" + std::string(tables.model()) +
             "' merges by scores, but there are none";
    return nullptr;
  }
  auto made = std::make_unique<ScoredBpe>(std::move(tables));
  return made->prepare(error) ? std::move(made) : nullptr;
}

} // namespace

const TokenizerKind scoredBpe{compile, open};

} // namespace writ
