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

namespace writ {
namespace {

/// A token of the piece under way. Merged-away symbols have length 0.
struct Symbol {
  int32_t id;
  int32_t previous, next; ///< indices, -1 at the ends
  uint32_t length;
};

/// A pair that can be merged, as it was when it was queued.
struct Candidate {
  int32_t rank;
  int32_t left, right; ///< symbols
  int32_t leftId, rightId;

  /// std::priority_queue puts the greatest first: the lowest rank, then the leftmost.
  bool operator<(const Candidate &other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

class ByteBpe final : public VocabularyTokenizer {
public:
  ByteBpe(TokenizerTables given, const PreTokenizerSpec &spec)
      : VocabularyTokenizer(std::move(given)), spec(spec) {}

  bool prepare(std::string *error);

private:
  void encodePlain(std::string_view text, bool first, std::vector<int32_t> &ids) const override;
  std::string spell(std::string_view entry) const override { return alphabet.bytesOf(entry); }
  void encodePiece(std::string_view piece, std::vector<int32_t> &ids) const;

  const PreTokenizerSpec &spec;
  ByteAlphabet alphabet;
  std::unique_ptr<PreTokenizer> preTokenizer;
  std::array<int32_t, 256> idOfByte{}; ///< -1 where the vocabulary lacks the byte
};

bool ByteBpe::prepare(std::string *error) {
  for (size_t byte = 0; byte < 256; ++byte)
    idOfByte[byte] = tables.find(alphabet.character(static_cast<uint8_t>(byte)));
  preTokenizer = PreTokenizer::make(spec, error);
  return preTokenizer != nullptr;
}

bool readMerge(const Vocabulary &vocabulary, size_t index, ModelTables *tables,
               std::string *error) {
  std::string_view text = vocabulary.data.merges[index];
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
    ids[i] = vocabulary.find(names[i]);
    if (ids[i] < 0)
      return fail("names '" + std::string(names[i]) + "', which is not in the vocabulary");
  }
  tables->merges.push_back({ids[0], ids[1], ids[2]});
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
    if (int32_t id = tables.find(word); id >= 0) {
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
    if (const int32_t rank = tables.rankOf(leftId, rightId); rank >= 0)
      queue.push({rank, left, right, leftId, rightId});
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
    left.id = tables.merges()[static_cast<size_t>(candidate.rank)].result;
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

const PreTokenizerSpec *requirePreTokenizer(std::string_view name, std::string *error) {
  const PreTokenizerSpec *spec = findPreTokenizer(name);
  if (!spec)
    *error = "pre-tokenizer '" + std::string(name) + "' is unknown; known are " +
             quotedNames(preTokenizers()) + " (a further one is an entry of pre_tokenizers.json)";
  return spec;
}

bool compile(const Vocabulary &vocabulary, ModelTables *tables, std::string *error) {
  if (!requirePreTokenizer(vocabulary.data.preTokenizer, error))
    return false;
  for (size_t i = 0; i < vocabulary.data.merges.size(); ++i)
    if (!readMerge(vocabulary, i, tables, error))
      return false;
  return true;
}

std::unique_ptr<Tokenizer> open(TokenizerTables tables, std::string *error) {
  const PreTokenizerSpec *spec = requirePreTokenizer(tables.preTokenizer(), error);
  if (!spec)
    return nullptr;
  auto made = std::make_unique<ByteBpe>(std::move(tables), *spec);
  if (!made->prepare(error))
    return nullptr;
  return made;
}

} // namespace

const TokenizerKind byteBpe{compile, open};

} // namespace writ
