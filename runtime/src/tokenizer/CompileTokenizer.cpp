//===- CompileTokenizer.cpp - the tables of a vocabulary --------------------===//
//
// Everything that can be wrong with a vocabulary is found here, when its tables are made, so that
// opening them has only their own form to look at. The bytes are a function of the data alone.
//
//===----------------------------------------------------------------------===//
#include "TokenizerModels.h"
#include "Utf8.h"
#include "VocabularyTokenizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace writ {
namespace {

/// Slots for `count` things, of which half or more stay free.
std::vector<uint32_t> emptySlots(size_t count) {
  return std::vector<uint32_t>(std::bit_ceil(2 * count), 0);
}

std::string checkTokens(const TokenizerData &data, std::vector<uint32_t> &slots) {
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
    const SlotSearch found = searchSlots(slots, tokenHash(text), [&](int32_t id) {
      return data.tokens[static_cast<size_t>(id)] == text;
    });
    if (found.index >= 0)
      return "tokens " + std::to_string(found.index) + " and " + std::to_string(i) +
             " have the same text, '" + text + "'";
    slots[found.freeEntry] = static_cast<uint32_t>(i) + 1;
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

/// Rules that hold for every model: ids inside the vocabulary, lengths that agree, token texts that
/// are valid UTF-8 and distinct (empty ones excepted, which never match), finite scores. Fills the
/// slots of the tokens. The first broken rule in words, or nothing.
std::string checkData(const TokenizerData &data, std::vector<uint32_t> &slots) {
  size_t size = data.tokens.size(), bytes = 0;
  if (size == 0)
    return "the vocabulary is empty";
  if (size > static_cast<size_t>(INT32_MAX))
    return "the vocabulary has " + std::to_string(size) + " tokens; ids are 32-bit";
  const std::pair<const char *, size_t> lengths[] = {{"scores", data.scores.size()},
                                                     {"types", data.types.size()}};
  for (auto [what, length] : lengths)
    if (length != 0 && length != size)
      return std::to_string(length) + " " + what + " for " + std::to_string(size) + " tokens";
  for (const std::string &token : data.tokens)
    bytes += token.size();
  if (bytes > UINT32_MAX)
    return "the tokens' texts have " + std::to_string(bytes) + " bytes; offsets are 32-bit";
  std::string message = checkIds(data);
  slots = emptySlots(size);
  if (message.empty())
    message = checkTokens(data, slots);
  for (size_t i = 0; i < data.merges.size() && message.empty(); ++i)
    if (!utf8::isValid(data.merges[i]))
      message = "merge " + std::to_string(i) + " is not valid UTF-8";
  if (message.empty() && !utf8::isValid(data.chatTemplate))
    message = "the chat template is not valid UTF-8";
  return message;
}

/// Sections behind a header.
class Writer {
public:
  Writer() { std::memcpy(header.format, tablesFormat, sizeof tablesFormat); }

  TablesHeader header{};

  template <class List> void put(TablesSection section, const List &list) {
    body.resize((body.size() + 7) / 8 * 8);
    const size_t bytes = list.size() * sizeof *list.data();
    header.sections[size_t(section)] = {sizeof header + body.size(), bytes};
    if (bytes > 0)
      body.append(reinterpret_cast<const char *>(list.data()), bytes);
  }
  std::string finish() {
    header.bytes = sizeof header + body.size();
    return std::string(reinterpret_cast<const char *>(&header), sizeof header) + body;
  }

private:
  std::string body;
};
static_assert(sizeof(TablesHeader) % 8 == 0, "sections begin at multiples of 8");

std::string write(const TokenizerData &data, const std::vector<uint32_t> &slots,
                  const ModelTables &model) {
  Writer out;
  out.header.bos = data.bos;
  out.header.eos = data.eos;
  out.header.unknown = data.unknown;
  out.header.padding = data.padding;
  out.header.flags = (data.addBos ? addsBosFlag : 0u) | (data.addEos ? addsEosFlag : 0u) |
                     (data.addSpacePrefix ? addsSpacePrefixFlag : 0u);
  std::string text;
  std::vector<uint32_t> ends;
  for (const std::string &token : data.tokens) {
    text += token;
    ends.push_back(static_cast<uint32_t>(text.size()));
    out.header.longestToken =
        std::max(out.header.longestToken, static_cast<uint32_t>(token.size()));
  }
  std::vector<uint32_t> mergeSlots = emptySlots(model.merges.size());
  for (size_t rank = 0; rank < model.merges.size(); ++rank) {
    const TablesMerge &own = model.merges[rank];
    const auto isOwn = [&](int32_t other) {
      const TablesMerge &merge = model.merges[static_cast<size_t>(other)];
      return merge.left == own.left && merge.right == own.right;
    };
    const SlotSearch found = searchSlots(mergeSlots, pairHash(own.left, own.right), isOwn);
    if (found.index < 0) // of a merge that stands there twice, the first counts
      mergeSlots[found.freeEntry] = static_cast<uint32_t>(rank) + 1;
  }
  out.put(TablesSection::model, data.model);
  out.put(TablesSection::preTokenizer, data.preTokenizer);
  out.put(TablesSection::chatTemplate, data.chatTemplate);
  out.put(TablesSection::endOfGeneration, data.endOfGeneration);
  out.put(TablesSection::text, text);
  out.put(TablesSection::ends, ends);
  out.put(TablesSection::scores, data.scores);
  out.put(TablesSection::types, std::vector<uint8_t>(data.types.begin(), data.types.end()));
  out.put(TablesSection::slots, slots);
  out.put(TablesSection::merges, model.merges);
  out.put(TablesSection::mergeSlots, mergeSlots);
  out.put(TablesSection::beforeSpace, model.beforeSpace);
  return out.finish();
}

} // namespace

std::optional<std::string> compileTokenizer(const TokenizerData &data, std::string *error) {
  std::string ignored;
  error = error ? error : &ignored;
  const TokenizerKind *kind = tokenizerKind(data.model, error);
  if (!kind)
    return std::nullopt;
  std::vector<uint32_t> slots;
  if (*error = checkData(data, slots); !error->empty())
    return std::nullopt;
  ModelTables model;
  if (!kind->compile({data, slots}, &model, error))
    return std::nullopt;
  return write(data, slots, model);
}

} // namespace writ
