#include "compiler/Import/ReadTokenizer.h"
#include "compiler/Import/ModelReaders.h"
#include "compiler/Support/Digest.h"
#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unordered_map>

namespace writ {
namespace {

constexpr std::string_view prefix = "tokenizer.ggml.";

enum class KeyUse { consumed, ends, id, ignored, off };
struct KnownKey {
  std::string_view key;
  KeyUse use;
};
constexpr KnownKey knownKeys[] = {
#define TOKENIZER_KEY(key, use) {key, KeyUse::use},
#include "compiler/Import/TokenizerKeys.def"
};

struct RoleText {
  std::string_view key, text;
};
constexpr std::string_view endTexts[] = {
#define END_TEXT(text) text,
#include "compiler/Import/WellKnownTokens.def"
};
constexpr RoleText roleTexts[] = {
#define ROLE_TEXT(key, text) {key, text},
#include "compiler/Import/WellKnownTokens.def"
};
struct ControlText {
  std::string_view key, older, text;
};
constexpr ControlText controlTexts[] = {
#define CONTROL_TEXT(key, older, text) {key, older, text},
#include "compiler/Import/WellKnownTokens.def"
};
constexpr std::string_view userDefinedTexts[] = {
#define USER_DEFINED_TEXT(text) text,
#include "compiler/Import/WellKnownTokens.def"
};
struct Exception {
  std::string_view text;
  TokenType type;
  std::string_view besides[2];
};
constexpr Exception exceptions[] = {
#define EXCEPT_BESIDE(text, type, other, another) {text, TokenType::type, {other, another}},
#include "compiler/Import/WellKnownTokens.def"
};

class Reader {
public:
  explicit Reader(const ModelFile &file) : file(file) {}

  TokenizerData read() {
    data.model = text("model");
    const TokenizerModelSpec *spec = findTokenizerModel(data.model);
    if (!spec)
      refuseUnknown("tokenizer model", "model", data.model, tokenizerModels());
    bool addsBos = spec->addsBos;
    if (spec->merges == MergeRule::ranks)
      addsBos |= readPreTokenizer().addsBos;
    else
      refusePreTokenizer();
    readLists(*spec);
    data.bos = optionalId("bos_token_id", spec->bos);
    data.eos = optionalId("eos_token_id", spec->eos);
    data.unknown = optionalId("unknown_token_id", spec->unknown);
    data.padding = optionalId("padding_token_id");
    data.addBos = flag("add_bos_token", addsBos);
    data.addEos = flag("add_eos_token", false);
    data.addSpacePrefix = flag("add_space_prefix", spec->addsSpacePrefix);
    if (data.eos >= 0)
      addEnd(data.eos);
    checkKeys();
    findKnownTexts();
    if (const MetadataValue *value = file.find("tokenizer.chat_template")) {
      if (!value->asString())
        refuse("E041", fmt::format("expected string, got {}", value->type), "chat_template", *value,
               "tokenizer.");
      data.chatTemplate = *value->asString();
    }
    std::string error;
    if (!makeTokenizer(data, &error))
      throw Error(Location{file.path()}, "E040",
                  fmt::format("the tokenizer cannot be used: {}", printable(error, 400)));
    return std::move(data);
  }

private:
  [[noreturn]] void refuse(const char *code, const std::string &problem, std::string_view key,
                           const MetadataValue &value, std::string_view group = prefix) const {
    refuseField(file.path(), code, problem, value.offset, fmt::format("{}{}", group, key));
  }

  const MetadataValue *find(std::string_view key) const {
    return file.find(fmt::format("{}{}", prefix, key));
  }

  const MetadataValue &need(std::string_view key) const {
    if (const MetadataValue *value = find(key))
      return *value;
    throw Error(
        Location{file.path()}, "E041",
        fmt::format("the model file has no '{}{}', which its tokenizer needs", prefix, key));
  }

  const std::string &text(std::string_view key) const {
    const MetadataValue &value = need(key);
    if (!value.asString())
      refuse("E041", fmt::format("expected string, got {}", value.type), key, value);
    return *value.asString();
  }

  const std::vector<std::string> &texts(std::string_view key) const {
    const MetadataValue &value = need(key);
    if (!value.asStrings())
      refuse("E041", fmt::format("expected array<string>, got {}", value.type), key, value);
    return *value.asStrings();
  }

  template <class Specs>
  [[noreturn]] void refuseUnknown(const char *what, std::string_view key, const std::string &name,
                                  const Specs &specs) const {
    std::vector<std::string_view> known;
    for (const auto &each : specs)
      known.push_back(each.name);
    refuse("E042",
           fmt::format("{} '{}' is unknown; known are '{}'", what, printable(name),
                       fmt::join(known, "', '")),
           key, need(key));
  }

  const PreTokenizerSpec &readPreTokenizer() {
    data.preTokenizer = text("pre");
    const PreTokenizerSpec *spec = findPreTokenizer(data.preTokenizer);
    if (!spec)
      refuseUnknown("pre-tokenizer", "pre", data.preTokenizer, preTokenizers());
    return *spec;
  }

  /// A model that goes by scores cuts nothing before it merges; files say so by "default".
  void refusePreTokenizer() const {
    if (find("pre") && text("pre") != "default")
      refuse("E042",
             fmt::format("pre-tokenizer '{}' is given, but tokenizer model '{}' has none; it knows "
                         "only 'default'",
                         printable(text("pre")), data.model),
             "pre", need("pre"));
  }

  void checkLength(std::string_view key, size_t length) const {
    if (length != data.tokens.size())
      refuse("E044",
             fmt::format("{} elements for a vocabulary of {} tokens", length, data.tokens.size()),
             key, need(key));
  }

  void readLists(const TokenizerModelSpec &spec) {
    const bool byScores = spec.merges == MergeRule::scores;
    data.tokens = texts("tokens");
    // Beside scores a list of merges says the same once more: llama.cpp does not read it either.
    if (!byScores)
      data.merges = texts("merges");
    // Without types a byte token could not be told from a text.
    if (const MetadataValue *value = byScores ? &need("token_type") : find("token_type")) {
      std::optional<std::vector<int64_t>> types = value->asIntegers();
      if (!types)
        refuse("E041", fmt::format("expected array<i32>, got {}", value->type), "token_type",
               *value);
      checkLength("token_type", types->size());
      for (size_t i = 0; i < types->size(); ++i) {
        int64_t type = (*types)[i];
        if (type < 1 || type > 6)
          refuse("E040", fmt::format("token {} has type {}; types are 1 to 6", i, type),
                 "token_type", *value);
        data.types.push_back(static_cast<int32_t>(type));
      }
    }
    if (const MetadataValue *value = byScores ? &need("scores") : find("scores")) {
      std::optional<std::vector<double>> scores = value->asNumbers();
      if (!scores)
        refuse("E041", fmt::format("expected array<f32>, got {}", value->type), "scores", *value);
      checkLength("scores", scores->size());
      for (double score : *scores)
        data.scores.push_back(static_cast<float>(score));
    }
    if (data.types.empty())
      data.types.assign(data.tokens.size(), static_cast<int32_t>(TokenType::normal));
  }

  /// `otherwise`, where the vocabulary has it, if the file does not say.
  int32_t optionalId(std::string_view key, int32_t otherwise = -1) const {
    const MetadataValue *value = find(key);
    if (!value)
      return otherwise < static_cast<int64_t>(data.tokens.size()) ? otherwise : -1;
    std::optional<int64_t> id = value->asInteger();
    if (!id)
      refuse("E041", fmt::format("expected an integer, got {}", value->type), key, *value);
    if (*id < 0 || static_cast<uint64_t>(*id) >= data.tokens.size())
      refuse(
          "E045",
          fmt::format("token {} is outside the vocabulary of {} tokens", *id, data.tokens.size()),
          key, *value);
    return static_cast<int32_t>(*id);
  }

  bool flag(std::string_view key, bool otherwise) const {
    const MetadataValue *value = find(key);
    if (value && !value->asBool())
      refuse("E041", fmt::format("expected bool, got {}", value->type), key, *value);
    return value ? *value->asBool() : otherwise;
  }

  void checkKeys() {
    for (const MetadataEntry &entry : file.metadata()) {
      if (!entry.key.starts_with(prefix))
        continue;
      std::string_view key = std::string_view(entry.key).substr(prefix.size());
      auto known = std::find_if(std::begin(knownKeys), std::end(knownKeys),
                                [&](const KnownKey &each) { return each.key == key; });
      if (known == std::end(knownKeys))
        refuse("E046", "the key is unknown and may change token ids", printable(key), entry.value);
      if (known->use == KeyUse::off && flag(key, false))
        refuse("E046", "the key asks for a step that Writ's tokenizers do not have", key,
               entry.value);
      if (known->use == KeyUse::ends || known->use == KeyUse::id) {
        int32_t id = optionalId(key);
        if (known->use == KeyUse::ends)
          addEnd(id);
      }
    }
  }

  void addEnd(int32_t id) {
    std::vector<int32_t> &ends = data.endOfGeneration;
    if (std::find(ends.begin(), ends.end(), id) == ends.end())
      ends.push_back(id);
  }

  void findKnownTexts() {
    std::unordered_map<std::string_view, int32_t> idOf;
    for (size_t i = 0; i < data.tokens.size(); ++i)
      idOf.emplace(data.tokens[i], static_cast<int32_t>(i));
    auto setType = [&](std::string_view text, TokenType type) {
      auto found = idOf.find(text);
      if (found == idOf.end())
        return int32_t(-1);
      data.types[static_cast<size_t>(found->second)] = static_cast<int32_t>(type);
      return found->second;
    };
    auto endByText = [&](std::string_view text) {
      if (int32_t id = setType(text, TokenType::control); id >= 0)
        addEnd(id);
    };
    for (std::string_view text : endTexts)
      endByText(text);
    for (const RoleText &role : roleTexts)
      if (!find(role.key))
        endByText(role.text);
    for (const ControlText &control : controlTexts)
      if (!find(control.key) && !find(control.older))
        setType(control.text, TokenType::control);
    for (std::string_view text : userDefinedTexts)
      setType(text, TokenType::userDefined);
    for (const Exception &exception : exceptions) {
      auto found = idOf.find(exception.text);
      if (found == idOf.end() || found->second == data.eos ||
          !idOf.contains(exception.besides[0]) || !idOf.contains(exception.besides[1]))
        continue;
      std::erase(data.endOfGeneration, found->second);
      data.types[static_cast<size_t>(found->second)] = static_cast<int32_t>(exception.type);
    }
    std::sort(data.endOfGeneration.begin(), data.endOfGeneration.end());
  }

  const ModelFile &file;
  TokenizerData data;
};

} // namespace

TokenizerData readTokenizer(const ModelFile &file) {
  return Reader(file).read();
}

const ChatTemplate *matchChatTemplate(const ModelFile &file, const TokenizerData &tokenizer,
                                      std::span<const ChatTemplate> chats) {
  if (tokenizer.chatTemplate.empty())
    return nullptr;
  std::string error;
  const ChatTemplate *chat = selectChatTemplate(chats, sha256(tokenizer.chatTemplate), &error);
  if (!chat)
    throw Error(Location{file.path()}, "E047", error);
  return chat;
}

} // namespace writ
