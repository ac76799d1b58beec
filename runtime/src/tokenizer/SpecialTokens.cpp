#include "SpecialTokens.h"

#include <algorithm>
#include <tuple>

namespace writ {

SpecialTokens::SpecialTokens(const TokenizerData &data) : nodes(1) {
  for (size_t i = 0; i < data.types.size(); ++i) {
    auto type = static_cast<TokenType>(data.types[i]);
    bool userDefined = type == TokenType::userDefined;
    if (!userDefined && type != TokenType::control && type != TokenType::unknown)
      continue;
    if (!data.tokens[i].empty())
      tokens.push_back({static_cast<int32_t>(i), data.tokens[i].size(), userDefined});
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Token &a, const Token &b) { return a.length > b.length; });
  for (size_t i = 0; i < tokens.size(); ++i) {
    uint32_t node = 0;
    for (unsigned char byte : data.tokens[static_cast<size_t>(tokens[i].id)]) {
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

  // Every place where a token is spelled.
  std::vector<std::pair<int32_t, size_t>> found; // (index into tokens, begin)
  for (size_t begin = 0, segment = 0; begin < text.size(); ++begin) {
    while (ends[segment] <= begin)
      ++segment;
    uint32_t node = 0;
    for (size_t i = begin; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (!node)
        break;
      int32_t token = nodes[node].token;
      if (token >= 0 && (tokens[static_cast<size_t>(token)].userDefined || i < stretch[segment]))
        found.emplace_back(token, begin);
    }
  }

  // A token takes a place unless one that is at least as long has taken a part of it, which then
  // covers its first or its last byte.
  std::vector<Part> taken;
  if (!found.empty()) {
    std::sort(found.begin(), found.end());
    std::vector<bool> covered(text.size());
    for (auto [index, begin] : found) {
      const Token &token = tokens[static_cast<size_t>(index)];
      size_t end = begin + token.length;
      if (covered[begin] || covered[end - 1])
        continue;
      std::fill(covered.begin() + static_cast<ptrdiff_t>(begin),
                covered.begin() + static_cast<ptrdiff_t>(end), true);
      taken.push_back({begin, end, token.id});
    }
    std::sort(taken.begin(), taken.end(),
              [](const Part &a, const Part &b) { return a.begin < b.begin; });
  }

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
