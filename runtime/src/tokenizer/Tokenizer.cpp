#include "writ/tokenizer.h"
#include "TokenizerModels.h"

#include <cstring>

namespace writ {
namespace {

constexpr TokenizerModelSpec models[] = {
#define TOKENIZER_MODEL(name, kind, merges, ...) {name, MergeRule::merges, __VA_ARGS__},
#include "TokenizerModels.def"
#undef TOKENIZER_MODEL
};
constexpr const TokenizerKind *kinds[] = {
#define TOKENIZER_MODEL(name, kind, ...) &kind,
#include "TokenizerModels.def"
#undef TOKENIZER_MODEL
};

} // namespace

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

const TokenizerKind *tokenizerKind(std::string_view model, std::string *error) {
  if (const TokenizerModelSpec *spec = findTokenizerModel(model))
    return kinds[spec - models];
  *error = "tokenizer model '" + std::string(model) + "' is unknown; known are " +
           quotedNames(tokenizerModels());
  return nullptr;
}

std::unique_ptr<Tokenizer> openTokenizer(std::unique_ptr<const std::byte[]> bytes, size_t size,
                                         std::string *error) {
  std::string ignored;
  error = error ? error : &ignored;
  TokenizerTables tables;
  if (!tables.open(std::move(bytes), size, error))
    return nullptr;
  const TokenizerKind *kind = tokenizerKind(tables.model(), error);
  return kind ? kind->open(std::move(tables), error) : nullptr;
}

std::unique_ptr<Tokenizer> openTokenizer(std::string_view tables, std::string *error) {
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(tables.size());
  std::memcpy(bytes.get(), tables.data(), tables.size());
  return openTokenizer(std::move(bytes), tables.size(), error);
}

std::unique_ptr<Tokenizer> makeTokenizer(const TokenizerData &data, std::string *error) {
  const std::optional<std::string> tables = compileTokenizer(data, error);
  if (!tables)
    return nullptr;
  return openTokenizer(*tables, error);
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

} // namespace writ
