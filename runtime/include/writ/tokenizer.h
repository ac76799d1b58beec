//===- tokenizer.h - text to token ids and back ---------------------------===//
//
// A tokenizer is data: the vocabulary, and merges with the name of a pre-tokenizer pattern or
// scores, as the model file gives them. It is immutable after load and may be shared between
// threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// What a vocabulary entry is; the values are those of GGUF's tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  userDefined = 4,
  unused = 5,
  byte = 6
};

/// Everything a tokenizer needs, as the model file states it.
struct TokenizerData {
  std::string model;        ///< tokenizer.ggml.model: a name of tokenizerModels()
  std::string preTokenizer; ///< tokenizer.ggml.pre: a name of the pattern table; empty without
  std::vector<std::string> tokens;
  std::vector<float> scores;                              ///< empty where the model has none
  std::vector<int32_t> types;                             ///< TokenType; empty means all normal
  std::vector<std::string> merges;                        ///< empty where the model goes by scores
  int32_t bos = -1, eos = -1, unknown = -1, padding = -1; ///< -1: none
  std::vector<int32_t> endOfGeneration; ///< ids that end a generation, eos among them
  bool addBos = false, addEos = false, addSpacePrefix = false;
  std::string chatTemplate; ///< the template's text, empty where there is none
};

struct EncodeOptions {
  bool addSpecial = true;   ///< BOS / EOS as the metadata says
  bool parseSpecial = true; ///< special tokens written in the text become their ids
};

/// A part of a text that is encoded as one whole with its neighbours.
struct TextSegment {
  std::string text;
  /// Control tokens written in this segment become their ids; one that begins or ends in a segment
  /// where this is false stays text.
  bool parseSpecial = false;

  bool operator==(const TextSegment &) const = default;
};

/// Thread-safe: a tokenizer does not change after it is made.
class Tokenizer {
public:
  virtual ~Tokenizer() = default;
  /// The ids of a text, which are those that llama.cpp gives. User-defined tokens become their ids
  /// in any case; control and unknown tokens where `parseSpecial`, else they stay text. A byte that
  /// is not part of a UTF-8 character is read as U+FFFD by byte-level BPE, and becomes its byte
  /// token by scores.
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions &options) const;
  /// The ids of the concatenated segments; differs from `encode` only in where control tokens are
  /// looked for.
  virtual std::vector<int32_t> encodeSegments(std::span<const TextSegment> segments,
                                              bool addSpecial) const = 0;
  /// The bytes of one token; control and unknown tokens are empty unless `special`, unused ones
  /// always. Empty where `id` is not in the vocabulary.
  virtual std::string piece(int32_t id, bool special) const = 0;
  /// Tokens of the vocabulary.
  virtual int32_t size() const = 0;
  virtual int32_t bos() const = 0; ///< -1: none
  virtual int32_t eos() const = 0; ///< -1: none
  virtual bool endsGeneration(int32_t id) const = 0;
  /// What it was made from, put together anew.
  virtual TokenizerData data() const = 0;
  /// The bytes of all tokens; may be invalid UTF-8 (StreamingDecoder makes it valid).
  std::string decode(std::span<const int32_t> ids, bool special) const;
};

/// Builds a tokenizer. Returns null and sets `error` where the model or the pre-tokenizer's name is
/// unknown (the message names it and lists those that are known), an id is out of range, a merge
/// names a token that is not in the vocabulary, or a byte has no token where every byte needs one.
std::unique_ptr<Tokenizer> makeTokenizer(const TokenizerData &data, std::string *error);

/// tokenizer.bin of a package: the same vocabulary as tables that are searched as they lie
/// (runtime/src/tokenizer/TokenizerTables.h). Nothing, with `error`, where makeTokenizer would
/// return null.
std::optional<std::string> compileTokenizer(const TokenizerData &data, std::string *error);
/// A tokenizer over such tables. Returns null and sets `error` where the bytes are none, or none of
/// this version; of any bytes it takes, no text and no id reaches beyond them.
std::unique_ptr<Tokenizer> openTokenizer(std::unique_ptr<const std::byte[]> bytes, size_t size,
                                         std::string *error);
/// The same over a copy of them.
std::unique_ptr<Tokenizer> openTokenizer(std::string_view tables, std::string *error);

/// How a tokenizer model merges characters into tokens.
enum class MergeRule {
  ranks, ///< by the list of merges, inside the pieces that a pre-tokenizer cuts
  scores ///< by the scores of the tokens; there is no pre-tokenizer
};

/// One row of TokenizerModels.def: what a model takes from a file, and what holds where the file
/// does not say.
struct TokenizerModelSpec {
  std::string_view name; ///< as tokenizer.ggml.model writes it
  MergeRule merges;
  bool addsBos, addsSpacePrefix;
  int32_t bos, eos, unknown; ///< -1: none
};
std::span<const TokenizerModelSpec> tokenizerModels();
/// Null where the name is unknown.
const TokenizerModelSpec *findTokenizerModel(std::string_view name);

/// How a pre-tokenizer cuts a text before merges; one entry of pre_tokenizers.json.
struct PreTokenizerSpec {
  std::string name;               ///< as tokenizer.ggml.pre writes it
  std::vector<std::string> split; ///< PCRE2 patterns, each applied to the pieces of the one before
  bool wholeWordsFirst = false; ///< a piece that is a token is that token, whatever the merges say
  bool addsBos = false;         ///< BOS is added where the model file does not say
};
const std::vector<PreTokenizerSpec> &preTokenizers();
/// Null where the name is unknown.
const PreTokenizerSpec *findPreTokenizer(std::string_view name);

/// tokenizer.json of a package: serialises TokenizerData, and reads it back. Texts and floats come
/// back exactly; bytes that are not UTF-8, which makeTokenizer refuses, are written as U+FFFD, and
/// a score that is not finite, which it refuses too, as null.
std::string writeTokenizerData(const TokenizerData &data);
/// Returns false and sets `error` where the text is not such a document: the message names the
/// field, the element and the rule. Unknown and repeated fields are errors.
bool readTokenizerData(std::string_view json, TokenizerData *data, std::string *error);

/// Collects token bytes and gives back only whole UTF-8 characters: what `push` returns never ends
/// inside a character. Invalid bytes come out as U+FFFD once they cannot become valid.
class StreamingDecoder {
public:
  std::string push(std::string_view bytes);
  std::string finish(); ///< the rest; an unfinished character becomes U+FFFD

private:
  std::string pending;
};

} // namespace writ
