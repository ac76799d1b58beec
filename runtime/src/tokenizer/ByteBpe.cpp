//===- ByteBpe.cpp - the "gpt2" model: byte-level byte-pair encoding ---------===//
//
// A text is cut at special tokens, each part into pieces by the pre-tokenizer, each piece into
// bytes, and then the adjacent pair with the lowest merge rank, the leftmost of equals, becomes one
// token until no pair has a rank (Sennrich et al. 2016; Radford et al. 2019).
//
//===----------------------------------------------------------------------===//
#include "ByteAlphabet.h"
#include "PreTokenizer.h"
#include "TokenizerModels.h"
#include "Utf8.h"
#include "VocabularyTokenizer.h"

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

class ByteBpe final : public VocabularyTokenizer {
public:
  explicit ByteBpe(TokenizerData given)
      : VocabularyTokenizer(std::move(given)), spec(*findPreTokenizer(values.preTokenizer)) {}

  bool prepare(std::string *error);

private:
  bool readMerge(size_t index, std::string *error);
  void encodePlain(std::string_view text, bool first, std::vector<int32_t> &ids) const override;
  std::string spell(const std::string &entry) const override { return alphabet.bytesOf(entry); }
  void encodePiece(std::string_view piece, std::vector<int32_t> &ids) const;

  const PreTokenizerSpec &spec;
  ByteAlphabet alphabet;
  std::unique_ptr<PreTokenizer> preTokenizer;
  std::unordered_map<uint64_t, Merge> merges; ///< by pairKey
  std::array<int32_t, 256> idOfByte{};        ///< -1 where the vocabulary lacks the byte
};

bool ByteBpe::prepare(std::string *error) {
  for (size_t byte = 0; byte < 256; ++byte)
    idOfByte[byte] = idOf(alphabet.character(static_cast<uint8_t>(byte)));
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
    ids[i] = idOf(names[i]);
    if (ids[i] < 0)
      return fail("names '" + std::string(names[i]) + "', which is not in the vocabulary");
  }
  // Of a merge that stands there twice, the first counts.
  merges.try_emplace(pairKey(ids[0], ids[1]), Merge{static_cast<uint32_t>(index), ids[2]});
  return true;
}

void ByteBpe::encodePlain(std::string_view text, bool /*first*/, std::vector<int32_t> &ids) const {
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
    if (int32_t id = idOf(word); id >= 0) {
      ids.push_back(id);
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

} // namespace

std::unique_ptr<Tokenizer> makeByteBpe(TokenizerData data, std::string *error) {
  if (!findPreTokenizer(data.preTokenizer)) {
    *error = "pre-tokenizer '" + data.preTokenizer + "' is unknown; known are " +
             quotedNames(preTokenizers()) + " (a further one is an entry of pre_tokenizers.json)";
    return nullptr;
  }
  auto made = std::make_unique<ByteBpe>(std::move(data));
  if (!made->prepare(error))
    return nullptr;
  return made;
}

} // namespace writ
