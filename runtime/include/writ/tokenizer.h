//===- tokenizer.h - text to token ids and back ---------------------------===//
//
// A tokenizer is data: the vocabulary, the merges and the name of a pre-tokenizer pattern, as the
// model file gives them. It is immutable after load and may be shared between threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// What a vocabulary entry is; the values are those of GGUF's tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  normal = 1, unknown = 2, control = 3, userDefined = 4, unused = 5, byte = 6
};

/// Everything a tokenizer needs, as the model file states it.
struct TokenizerData {
  std::string model;           ///< tokenizer.ggml.model: "gpt2" (byte-level BPE)
  std::string preTokenizer;    ///< tokenizer.ggml.pre: a name of the pattern table
  std::vector<std::string> tokens;
  std::vector<float> scores;   ///< empty where the model has none
  std::vector<int32_t> types;  ///< TokenType; empty means all normal
  std::vector<std::string> merges;
  int32_t bos = -1, eos = -1, unknown = -1, padding = -1; ///< -1: none
  std::vector<int32_t> endOfGeneration; ///< ids that end a generation, eos among them
  bool addBos = false, addEos = false, addSpacePrefix = false;
  std::string chatTemplate;    ///< the template's text, empty where there is none
};

struct EncodeOptions {
  bool addSpecial = true;   ///< BOS / EOS as the metadata says
  bool parseSpecial = true; ///< special tokens written in the text become their ids
};

class Tokenizer {
public:
  virtual ~Tokenizer() = default;
  virtual std::vector<int32_t> encode(std::string_view text, const EncodeOptions &) const = 0;
  /// The bytes of one token; control tokens are empty unless `special`.
  virtual std::string piece(int32_t id, bool special) const = 0;
  virtual const TokenizerData &data() const = 0;
  bool endsGeneration(int32_t id) const;
};

/// Builds a tokenizer. Returns null and sets `error` where the model or the pre-tokenizer's name is
/// unknown (the message names it and lists those that are known), an id is out of range, or a merge
/// names a token that is not in the vocabulary.
std::unique_ptr<Tokenizer> makeTokenizer(TokenizerData data, std::string *error);

/// tokenizer.json of a package: serialises TokenizerData, and reads it back.
std::string writeTokenizerData(const TokenizerData &data);
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
