//===- ByteBpe.cpp - the "gpt2" model: byte-level byte-pair encoding ---------===//
//
// A text is cut at special tokens, each part into pieces by the pre-tokenizer, each piece into
// bytes, and then the adjacent pair with the lowest merge rank, the leftmost of equals, becomes one
// token until no pair has a rank (Sennrich et al. 2016; Radford et al. 2019).
//
//===----------------------------------------------------------------------===//
#include "ByteAlphabet.h"
#include "PreTokenizer.h"
#include "SpecialTokens.h"
#include "TokenizerModels.h"
#include "Utf8.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace writ {
namespace {

struct Merge {
  uint32_t rank;
  int32_t result;
};

uint64_t pairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

/// A token of the piece under way. Merged-away symbols have length 0.
struct Symbol {
  int32_t id;
  int32_t previous, next; ///< indices, -1 at the ends
  uint32_t length;
};

/// A pair that can be merged, as it was when it was queued.
struct Candidate {
  uint32_t rank;
  int32_t left, right; ///< symbols
  int32_t leftId, rightId;

  /// std::priority_queue puts the greatest first: the lowest rank, then the leftmost.
  bool operator<(const Candidate &other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

class ByteBpe final : public Tokenizer {
public:
  explicit ByteBpe(TokenizerData given)
      : values(std::move(given)), specialTokens(values),
        spec(*findPreTokenizer(values.preTokenizer)) {}

  bool prepare(std::string *error);

  std::vector<int32_t> encodeSegments(std::span<const TextSegment> segments,
                                      bool addSpecial) const override;
  std::string piece(int32_t id, bool special) const override;
  const TokenizerData &data() const override { return values; }

private:
  bool readMerge(size_t index, std::string *error);
  void encodePlain(std::string_view text, std::vector<int32_t> &ids) const;
  void encodePiece(std::string_view piece, std::vector<int32_t> &ids) const;

  TokenizerData values;
  SpecialTokens specialTokens;
  const PreTokenizerSpec &spec;
  ByteAlphabet alphabet;
  std::unique_ptr<PreTokenizer> preTokenizer;
  std::unordered_map<std::string_view, int32_t> idOf; ///< views into values.tokens
  std::unordered_map<uint64_t, Merge> merges;         ///< by pairKey
  std::array<int32_t, 256> idOfByte{};                ///< -1 where the vocabulary lacks the byte
};

bool ByteBpe::prepare(std::string *error) {
  idOf.reserve(values.tokens.size());
  for (size_t i = 0; i < values.tokens.size(); ++i)
    if (!values.tokens[i].empty())
      idOf.emplace(values.tokens[i], static_cast<int32_t>(i));
  for (size_t byte = 0; byte < 256; ++byte) {
    auto found = idOf.find(alphabet.character(static_cast<uint8_t>(byte)));
    idOfByte[byte] = found == idOf.end() ? -1 : found->second;
  }
  merges.reserve(values.merges.size());
  for (size_t i = 0; i < values.merges.size(); ++i)
    if (!readMerge(i, error))
      return false;
  preTokenizer = PreTokenizer::make(spec, error);
  return preTokenizer != nullptr;
}

bool ByteBpe::readMerge(size_t index, std::string *error) {
  std::string_view text = values.merges[index];
  auto fail = [&](const std::string &what) {
    *error = "merge " + std::to_string(index) + " ('" + std::string(text) + "') " + what;
    return false;
  };
  size_t space = text.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == text.size())
    return fail("is not two tokens with a space between them");
  std::string_view left = text.substr(0, space), right = text.substr(space + 1);
  std::string joined = std::string(left) + std::string(right);
  int32_t ids[3];
  std::string_view names[3] = {left, right, joined};
  for (size_t i = 0; i < 3; ++i) {
    auto found = idOf.find(names[i]);
    if (found == idOf.end())
      return fail("names '" + std::string(names[i]) + "', which is not in the vocabulary");
    ids[i] = found->second;
  }
  // Of a merge that stands there twice, the first counts.
  merges.try_emplace(pairKey(ids[0], ids[1]), Merge{static_cast<uint32_t>(index), ids[2]});
  return true;
}

std::vector<int32_t> ByteBpe::encodeSegments(std::span<const TextSegment> segments,
                                             bool addSpecial) const {
  std::string joined;
  for (const TextSegment &segment : segments)
    joined += segment.text;
  std::vector<int32_t> ids;
  if (addSpecial && values.addBos)
    ids.push_back(values.bos);
  for (const SpecialTokens::Part &part : specialTokens.partition(joined, segments)) {
    if (part.id >= 0)
      ids.push_back(part.id);
    else
      encodePlain(std::string_view(joined).substr(part.begin, part.end - part.begin), ids);
  }
  if (addSpecial && values.addEos)
    ids.push_back(values.eos);
  return ids;
}

void ByteBpe::encodePlain(std::string_view text, std::vector<int32_t> &ids) const {
  std::string repaired;
  if (!utf8::isValid(text)) {
    repaired = utf8::repair(text);
    text = repaired;
  }
  preTokenizer->split(
      text, [&](size_t begin, size_t end) { encodePiece(text.substr(begin, end - begin), ids); });
}

void ByteBpe::encodePiece(std::string_view piece, std::vector<int32_t> &ids) const {
  if (spec.wholeWordsFirst) {
    std::string word;
    for (char byte : piece)
      word += alphabet.character(static_cast<uint8_t>(byte));
    if (auto found = idOf.find(word); found != idOf.end()) {
      ids.push_back(found->second);
      return;
    }
  }

  auto count = static_cast<int32_t>(piece.size());
  std::vector<Symbol> symbols(piece.size());
  for (int32_t i = 0; i < count; ++i)
    symbols[static_cast<size_t>(i)] = {
        idOfByte[static_cast<uint8_t>(piece[static_cast<size_t>(i)])], i - 1,
        i + 1 < count ? i + 1 : -1, 1};
  std::priority_queue<Candidate> queue;
  auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0)
      return;
    int32_t leftId = symbols[static_cast<size_t>(left)].id;
    int32_t rightId = symbols[static_cast<size_t>(right)].id;
    if (auto found = merges.find(pairKey(leftId, rightId)); found != merges.end())
      queue.push({found->second.rank, left, right, leftId, rightId});
  };
  for (int32_t i = 0; i + 1 < count; ++i)
    consider(i, i + 1);

  while (!queue.empty()) {
    Candidate candidate = queue.top();
    queue.pop();
    Symbol &left = symbols[static_cast<size_t>(candidate.left)];
    Symbol &right = symbols[static_cast<size_t>(candidate.right)];
    // Both must still be what they were; then they are still neighbours.
    if (!left.length || !right.length || left.id != candidate.leftId ||
        right.id != candidate.rightId)
      continue;
    left.id = merges.find(pairKey(left.id, right.id))->second.result;
    left.length += right.length;
    right.length = 0;
    left.next = right.next;
    if (left.next >= 0)
      symbols[static_cast<size_t>(left.next)].previous = candidate.left;
    consider(left.previous, candidate.left);
    consider(candidate.left, left.next);
  }
  for (const Symbol &symbol : symbols)
    if (symbol.length && symbol.id >= 0)
      ids.push_back(symbol.id);
}

std::string ByteBpe::piece(int32_t id, bool special) const {
  if (id < 0 || static_cast<size_t>(id) >= values.tokens.size())
    return {};
  const std::string &text = values.tokens[static_cast<size_t>(id)];
  auto type = values.types.empty() ? TokenType::normal
                                   : static_cast<TokenType>(values.types[static_cast<size_t>(id)]);
  switch (type) {
  case TokenType::normal:
    return alphabet.bytesOf(text);
  case TokenType::control:
  case TokenType::unknown:
    return special ? text : std::string();
  case TokenType::userDefined:
    return text;
  case TokenType::byte: // checked: "<0xNN>"
    return {static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16))};
  case TokenType::unused:
    break;
  }
  return {};
}

} // namespace

std::unique_ptr<Tokenizer> makeByteBpe(TokenizerData data, std::string *error) {
  if (!findPreTokenizer(data.preTokenizer)) {
    std::vector<std::string_view> known;
    for (const PreTokenizerSpec &spec : preTokenizers())
      known.push_back(spec.name);
    *error = "pre-tokenizer '" + data.preTokenizer + "' is unknown; known are " +
             quotedList(known) + " (a further one is an entry of pre_tokenizers.json)";
    return nullptr;
  }
  auto made = std::make_unique<ByteBpe>(std::move(data));
  if (!made->prepare(error))
    return nullptr;
  return made;
}

} // namespace writ
