#include "writ/tokenizer.h"
#include "TokenizerModels.h"
#include "Utf8.h"
#include "VocabularyTokenizer.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace writ {
namespace {

constexpr TokenizerModelSpec models[] = {
#define TOKENIZER_MODEL(name, factory, merges, ...) {name, MergeRule::merges, __VA_ARGS__},
#include "TokenizerModels.def"
#undef TOKENIZER_MODEL
};
constexpr TokenizerFactory *factories[] = {
#define TOKENIZER_MODEL(name, factory, ...) factory,
#include "TokenizerModels.def"
#undef TOKENIZER_MODEL
};

std::string checkTokens(const TokenizerData &data) {
  std::unordered_map<std::string_view, size_t> seen;
  seen.reserve(data.tokens.size());
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const std::string &text = data.tokens[i];
    std::string token = "token " + std::to_string(i);
    if (!utf8::isValid(text))
      return token + " is not valid UTF-8";
    if (!data.types.empty()) {
      int32_t type = data.types[i];
      if (type < 1 || type > 6)
        return token + " has type " + std::to_string(type) + "; types are 1 to 6";
      if (static_cast<TokenType>(type) == TokenType::byte && byteOfEntry(text) < 0)
        return token + " ('" + text + "') has type 6 (byte), but is not written <0xNN>";
    }
    if (!data.scores.empty() && !std::isfinite(data.scores[i]))
      return token + " has a score that is not finite";
    if (text.empty())
      continue;
    auto [first, inserted] = seen.try_emplace(text, i);
    if (!inserted)
      return "tokens " + std::to_string(first->second) + " and " + std::to_string(i) +
             " have the same text, '" + text + "'";
  }
  return {};
}

std::string checkIds(const TokenizerData &data) {
  auto size = static_cast<int64_t>(data.tokens.size());
  auto outside = [&](const char *what, int32_t id) {
    return std::string(what) + " is token " + std::to_string(id) + ", but the vocabulary has " +
           std::to_string(size) + " tokens";
  };
  const std::pair<const char *, int32_t> ids[] = {{"bos", data.bos},
                                                  {"eos", data.eos},
                                                  {"the unknown token", data.unknown},
                                                  {"the padding token", data.padding}};
  for (auto [what, id] : ids)
    if (id < -1 || id >= size)
      return outside(what, id);
  for (int32_t id : data.endOfGeneration)
    if (id < 0 || id >= size)
      return outside("an end of generation", id);
  if (data.addBos && data.bos < 0)
    return "BOS is to be added, but the model names no bos token";
  if (data.addEos && data.eos < 0)
    return "EOS is to be added, but the model names no eos token";
  return {};
}

} // namespace

bool checkTokenizerData(const TokenizerData &data, std::string *error) {
  auto fail = [&](std::string message) {
    *error = std::move(message);
    return false;
  };
  size_t size = data.tokens.size();
  if (size == 0)
    return fail("the vocabulary is empty");
  if (size > static_cast<size_t>(INT32_MAX))
    return fail("the vocabulary has " + std::to_string(size) + " tokens; ids are 32-bit");
  const std::pair<const char *, size_t> lengths[] = {{"scores", data.scores.size()},
                                                     {"types", data.types.size()}};
  for (auto [what, length] : lengths)
    if (length != 0 && length != size)
      return fail(std::to_string(length) + " " + what + " for " + std::to_string(size) + " tokens");
  std::string message = checkIds(data);
  if (message.empty())
    message = checkTokens(data);
  for (size_t i = 0; i < data.merges.size() && message.empty(); ++i)
    if (!utf8::isValid(data.merges[i]))
      message = "merge " + std::to_string(i) + " is not valid UTF-8";
  if (message.empty() && !utf8::isValid(data.chatTemplate))
    message = "the chat template is not valid UTF-8";
  return message.empty() || fail(std::move(message));
}

std::string quotedList(const std::vector<std::string_view> &names) {
  std::string out;
  for (std::string_view name : names)
    out += (out.empty() ? "'" : ", '") + std::string(name) + "'";
  return out;
}

std::span<const TokenizerModelSpec> tokenizerModels() {
  return models;
}

const TokenizerModelSpec *findTokenizerModel(std::string_view name) {
  for (const TokenizerModelSpec &model : models)
    if (model.name == name)
      return &model;
  return nullptr;
}

const std::vector<PreTokenizerSpec> &preTokenizers() {
  static const std::vector<PreTokenizerSpec> table = {
#include "PreTokenizers.inc"
  };
  return table;
}

const PreTokenizerSpec *findPreTokenizer(std::string_view name) {
  for (const PreTokenizerSpec &spec : preTokenizers())
    if (spec.name == name)
      return &spec;
  return nullptr;
}

std::unique_ptr<Tokenizer> makeTokenizer(TokenizerData data, std::string *error) {
  std::string ignored;
  error = error ? error : &ignored;
  if (const TokenizerModelSpec *model = findTokenizerModel(data.model)) {
    if (!checkTokenizerData(data, error))
      return nullptr;
    return factories[model - models](std::move(data), error);
  }
  *error = "tokenizer model '" + data.model + "' is unknown; known are " +
           quotedNames(tokenizerModels());
  return nullptr;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions &options) const {
  TextSegment segment{std::string(text), options.parseSpecial};
  return encodeSegments({&segment, 1}, options.addSpecial);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool special) const {
  std::string out;
  for (int32_t id : ids)
    out += piece(id, special);
  return out;
}

bool Tokenizer::endsGeneration(int32_t id) const {
  const std::vector<int32_t> &ends = data().endOfGeneration;
  return std::find(ends.begin(), ends.end(), id) != ends.end();
}

} // namespace writ
