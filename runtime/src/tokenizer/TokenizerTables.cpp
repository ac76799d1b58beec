#include "TokenizerTables.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace writ {
namespace {

/// Why a table of slots cannot be searched, or nothing. `count`: what its entries may stand for.
std::string faultOfSlots(const char *what, std::span<const uint32_t> slots, size_t count) {
  if (!std::has_single_bit(slots.size()))
    return std::string(what) + " has " + std::to_string(slots.size()) +
           " entries, which is no power of two";
  // Two passes that the compiler turns into vector code; a search ends at a free entry.
  const auto taken = slots.size() - size_t(std::count(slots.begin(), slots.end(), uint32_t(0)));
  uint32_t largest = 0;
  for (const uint32_t entry : slots)
    largest = std::max(largest, entry);
  if (taken == slots.size())
    return std::string(what) + " has no free entry";
  if (largest > count)
    return std::string(what) + " has an entry for " + std::to_string(largest - 1) + " of " +
           std::to_string(count);
  return {};
}

} // namespace

std::string_view TokenizerTables::textOf(TablesSection section) const {
  const TablesHeader::Section &at = header_->sections[size_t(section)];
  return {reinterpret_cast<const char *>(bytes.get()) + at.offset, size_t(at.bytes)};
}

template <class T>
bool TokenizerTables::view(TablesSection section, std::span<const T> *out) const {
  const std::string_view raw = textOf(section);
  *out = {reinterpret_cast<const T *>(raw.data()), raw.size() / sizeof(T)};
  return raw.size() % sizeof(T) == 0;
}

std::string TokenizerTables::checkHeader(size_t size) const {
  if (std::memcmp(header_->format, tablesFormat, sizeof tablesFormat) != 0)
    return "the bytes do not begin with '" + std::string(tablesFormat) + "'";
  if (header_->bytes != size)
    return "there are " + std::to_string(size) + " bytes, the header says " +
           std::to_string(header_->bytes);
  for (size_t i = 0; i < size_t(TablesSection::count); ++i) {
    const auto [offset, length] = header_->sections[i];
    if (offset % 8 != 0 || offset > size || length > size - offset)
      return "section " + std::to_string(i) + " (" + std::to_string(length) + " bytes at " +
             std::to_string(offset) + ") does not lie in the " + std::to_string(size) + " bytes";
  }
  return {};
}

std::string TokenizerTables::checkIds() const {
  const auto outside = [&](int32_t id) { return id < 0 || id >= size(); };
  for (const int32_t id : {header_->bos, header_->eos, header_->unknown, header_->padding})
    if (id != -1 && outside(id))
      return "a special token is " + std::to_string(id) + " of " + std::to_string(size());
  for (const int32_t id : ends_)
    if (outside(id))
      return "an end of generation is token " + std::to_string(id) + " of " +
             std::to_string(size());
  for (const TablesMerge &merge : mergeList)
    if (outside(merge.left) || outside(merge.right) || outside(merge.result))
      return "a merge names a token beyond the " + std::to_string(size());
  if ((has(addsBosFlag) && header_->bos < 0) || (has(addsEosFlag) && header_->eos < 0))
    return "a token is to be added that there is not";
  return {};
}

bool TokenizerTables::open(Bytes given, size_t size, std::string *error) {
  const auto fail = [&](const std::string &why) {
    *error = "these are no tables of a tokenizer: " + why;
    return false;
  };
  if (size < sizeof(TablesHeader))
    return fail(std::to_string(size) + " bytes are too few");
  bytes = std::move(given);
  header_ = reinterpret_cast<const TablesHeader *>(bytes.get());
  if (const std::string why = checkHeader(size); !why.empty())
    return fail(why);
  text = textOf(TablesSection::text);
  const bool whole =
      view(TablesSection::ends, &tokenEnds) && view(TablesSection::scores, &scores) &&
      view(TablesSection::types, &types) && view(TablesSection::slots, &slots) &&
      view(TablesSection::merges, &mergeList) && view(TablesSection::mergeSlots, &mergeSlots) &&
      view(TablesSection::endOfGeneration, &ends_);
  if (!whole)
    return fail("a section ends inside an element");
  const size_t count = tokenEnds.size();
  if (count == 0 || count > size_t(INT32_MAX) || mergeList.size() > size_t(INT32_MAX))
    return fail("there are " + std::to_string(count) + " tokens and " +
                std::to_string(mergeList.size()) + " merges");
  if (!std::is_sorted(tokenEnds.begin(), tokenEnds.end()) || tokenEnds.back() > text.size())
    return fail("the tokens' texts do not follow each other");
  for (const size_t length : {scores.size(), types.size()})
    if (length != 0 && length != count)
      return fail("scores or types are " + std::to_string(length) + " for " +
                  std::to_string(count) + " tokens");
  if (std::any_of(types.begin(), types.end(), [](uint8_t type) { return type < 1 || type > 6; }))
    return fail("a token has a type that there is not");
  if (!std::all_of(scores.begin(), scores.end(), [](float score) { return std::isfinite(score); }))
    return fail("a score is not finite");
  if (const std::string why = checkIds(); !why.empty())
    return fail(why);
  for (const auto &[what, table, most] : {std::tuple{"the table of tokens", slots, count},
                                          {"the table of merges", mergeSlots, mergeList.size()}})
    if (const std::string why = faultOfSlots(what, table, most); !why.empty())
      return fail(why);
  return true;
}

TokenizerData TokenizerTables::data() const {
  TokenizerData out;
  out.model = model();
  out.preTokenizer = preTokenizer();
  out.chatTemplate = textOf(TablesSection::chatTemplate);
  for (int32_t id = 0; id < size(); ++id)
    out.tokens.emplace_back(token(id));
  out.scores.assign(scores.begin(), scores.end());
  out.types.assign(types.begin(), types.end());
  for (const TablesMerge &merge : mergeList)
    out.merges.push_back(std::string(token(merge.left)) + " " + std::string(token(merge.right)));
  out.bos = header_->bos;
  out.eos = header_->eos;
  out.unknown = header_->unknown;
  out.padding = header_->padding;
  out.endOfGeneration.assign(ends_.begin(), ends_.end());
  out.addBos = has(addsBosFlag);
  out.addEos = has(addsEosFlag);
  out.addSpacePrefix = has(addsSpacePrefixFlag);
  return out;
}

} // namespace writ
