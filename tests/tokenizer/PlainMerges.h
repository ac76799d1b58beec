//===- PlainMerges.h - merging by scores, as one would read the rule aloud --===//
//
// The yardstick of ScoredBpe: quadratic, and without a queue, a cut or a cache.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/tokenizer.h"

#include <cstdio>
#include <map>
#include <string>

namespace writ::test {

/// The ids of a text that spells no special token. `space`: one is put before it.
inline std::vector<int32_t> mergePlainly(const TokenizerData &data, std::string_view text,
                                         bool space) {
  std::map<std::string, int32_t> idOf;
  std::map<std::string, int32_t> byteOf;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    auto type = static_cast<TokenType>(data.types[i]);
    if (type == TokenType::byte)
      byteOf[data.tokens[i]] = static_cast<int32_t>(i);
    else if (type != TokenType::control && type != TokenType::unknown && !data.tokens[i].empty())
      idOf[data.tokens[i]] = static_cast<int32_t>(i);
  }

  std::string escaped = space ? "\u2581" : "";
  for (char byte : text)
    escaped += byte == ' ' ? std::string("\u2581") : std::string(1, byte);
  std::vector<std::string> parts;
  for (size_t i = 0; i < escaped.size();) {
    auto lead = static_cast<unsigned char>(escaped[i]);
    size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    parts.push_back(escaped.substr(i, length));
    i += parts.back().size();
  }

  while (true) {
    size_t best = parts.size();
    float bestScore = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      auto found = idOf.find(parts[i] + parts[i + 1]);
      if (found == idOf.end())
        continue;
      float score = data.scores[static_cast<size_t>(found->second)];
      if (best == parts.size() || score > bestScore)
        best = i, bestScore = score;
    }
    if (best == parts.size())
      break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
  }

  std::vector<int32_t> ids;
  for (const std::string &part : parts) {
    if (auto found = idOf.find(part); found != idOf.end()) {
      ids.push_back(found->second);
      continue;
    }
    for (unsigned char byte : part) {
      char entry[8];
      std::snprintf(entry, sizeof entry, "<0x%02X>", byte);
      ids.push_back(byteOf.at(entry));
    }
  }
  return ids;
}

} // namespace writ::test
