#include "SpecialTokens.h"

#include <algorithm>
#include <functional>

namespace writ {

SpecialTokens::SpecialTokens(const TokenizerTables &tables) : nodes(1) {
  const std::span<const uint8_t> types = tables.typeList();
  for (size_t i = 0; i < types.size(); ++i) {
    auto type = static_cast<TokenType>(types[i]);
    bool userDefined = type == TokenType::userDefined;
    if (!userDefined && type != TokenType::control && type != TokenType::unknown)
      continue;
    const auto id = static_cast<int32_t>(i);
    if (const size_t length = tables.token(id).size(); length > 0)
      tokens.push_back({id, length, userDefined});
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Token &a, const Token &b) { return a.length > b.length; });
  for (size_t i = 0; i < tokens.size(); ++i) {
    uint32_t node = 0;
    for (unsigned char byte : tables.token(tokens[i].id)) {
      uint32_t next = child(node, byte);
      if (!next) {
        next = static_cast<uint32_t>(nodes.size());
        nodes.emplace_back();
        if (node == 0)
          first[byte] = next;
        else
          nodes[node].next.emplace_back(byte, next);
      }
      node = next;
    }
    nodes[node].token = static_cast<int32_t>(i);
  }
}

uint32_t SpecialTokens::child(uint32_t node, unsigned char byte) const {
  if (node == 0)
    return first[byte];
  for (auto [value, next] : nodes[node].next)
    if (value == byte)
      return next;
  return 0;
}

int32_t SpecialTokens::longest(std::string_view text, size_t begin, size_t end,
                               size_t specialEnd) const {
  int32_t best = -1;
  uint32_t node = 0;
  for (size_t i = begin; i < end; ++i) {
    node = child(node, static_cast<unsigned char>(text[i]));
    if (!node)
      break;
    int32_t token = nodes[node].token;
    if (token >= 0 && (tokens[static_cast<size_t>(token)].userDefined || i < specialEnd))
      best = token;
  }
  return best;
}

std::vector<SpecialTokens::Part>
SpecialTokens::partition(std::string_view text, std::span<const TextSegment> segments) const {
  // Where the stretch of parseSpecial segments that holds each segment ends; 0 where it is not one.
  std::vector<size_t> ends(segments.size()), stretch(segments.size());
  for (size_t i = 0, end = 0; i < segments.size(); ++i)
    ends[i] = end += segments[i].text.size();
  for (size_t i = segments.size(); i-- > 0;) {
    bool joined = i + 1 < segments.size() && segments[i + 1].parseSpecial;
    stretch[i] = !segments[i].parseSpecial ? 0 : joined ? stretch[i + 1] : ends[i];
  }

  // The tokens that begin at a place are tried from the longest, and those of all places in the
  // order of `tokens`: a heap holds the next one of each place, so that a run in which every place
  // begins many tokens takes no more memory than any other text.
  using Found = std::pair<int32_t, size_t>; // (index into tokens, begin)
  std::vector<Found> next;
  for (size_t begin = 0, segment = 0; begin < text.size(); ++begin) {
    while (ends[segment] <= begin)
      ++segment;
    if (int32_t token = longest(text, begin, text.size(), stretch[segment]); token >= 0)
      next.emplace_back(token, begin);
  }
  std::make_heap(next.begin(), next.end(), std::greater<>());

  // A token takes a place unless one that is at least as long has taken a part of it, which then
  // covers its first or its last byte.
  std::vector<Part> taken;
  std::vector<bool> covered(next.empty() ? 0 : text.size());
  while (!next.empty()) {
    std::pop_heap(next.begin(), next.end(), std::greater<>());
    auto [index, begin] = next.back();
    next.pop_back();
    const Token &token = tokens[static_cast<size_t>(index)];
    size_t end = begin + token.length;
    if (covered[begin])
      continue;
    if (!covered[end - 1]) {
      std::fill(covered.begin() + static_cast<ptrdiff_t>(begin),
                covered.begin() + static_cast<ptrdiff_t>(end), true);
      taken.push_back({begin, end, token.id});
      continue;
    }
    size_t room = begin;
    while (!covered[room])
      ++room;
    auto segment = std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin();
    int32_t shorter = longest(text, begin, room, stretch[static_cast<size_t>(segment)]);
    if (shorter < 0)
      continue;
    next.emplace_back(shorter, begin);
    std::push_heap(next.begin(), next.end(), std::greater<>());
  }
  std::sort(taken.begin(), taken.end(),
            [](const Part &a, const Part &b) { return a.begin < b.begin; });

  std::vector<Part> parts;
  size_t done = 0;
  for (const Part &part : taken) {
    if (part.begin > done)
      parts.push_back({done, part.begin, -1});
    parts.push_back(part);
    done = part.end;
  }
  if (done < text.size())
    parts.push_back({done, text.size(), -1});
  return parts;
}

} // namespace writ
