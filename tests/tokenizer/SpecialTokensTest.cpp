#include "runtime/src/tokenizer/SpecialTokens.h"
#include "Vocabulary.h"

#include <algorithm>
#include <tuple>

namespace writ::test {
namespace {

using Parts = std::vector<std::tuple<size_t, size_t, int32_t>>;

Parts found(const TokenizerData &data, const std::vector<TextSegment> &segments) {
  std::string text;
  for (const TextSegment &segment : segments)
    text += segment.text;
  TokenizerData whole = data;
  whole.model = "gpt2"; // any: tokens and types are all that matters
  whole.preTokenizer = "gpt-2";
  const TokenizerTables tables = openTables(compiled(whole));
  Parts parts;
  for (const SpecialTokens::Part &part : SpecialTokens(tables).partition(text, segments))
    parts.emplace_back(part.begin, part.end, part.id);
  return parts;
}

/// The rule as one would read it aloud: each token, the longest first, takes every place from left
/// to right that is still free. No segment is empty.
Parts foundPlainly(const TokenizerData &data, const std::vector<TextSegment> &segments) {
  std::string text;
  std::vector<bool> special;
  for (const TextSegment &segment : segments) {
    text += segment.text;
    special.resize(text.size(), segment.parseSpecial);
  }
  std::vector<int32_t> order;
  for (size_t i = 0; i < data.tokens.size(); ++i)
    if (data.types[i] != static_cast<int32_t>(TokenType::normal))
      order.push_back(static_cast<int32_t>(i));
  auto length = [&](int32_t id) { return data.tokens[static_cast<size_t>(id)].size(); };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return length(a) > length(b); });
  std::vector<int32_t> taken(text.size(), -1); // by byte
  Parts parts;
  for (int32_t id : order) {
    const std::string &token = data.tokens[static_cast<size_t>(id)];
    const bool anywhere =
        data.types[static_cast<size_t>(id)] == static_cast<int32_t>(TokenType::userDefined);
    for (size_t at = 0; (at = text.find(token, at)) != std::string::npos;) {
      auto begin = static_cast<ptrdiff_t>(at), end = begin + static_cast<ptrdiff_t>(token.size());
      bool free = std::all_of(taken.begin() + begin, taken.begin() + end,
                              [](int32_t other) { return other < 0; });
      if (!free || (!anywhere && !std::all_of(special.begin() + begin, special.begin() + end,
                                              [](bool value) { return value; }))) {
        ++at;
        continue;
      }
      std::fill(taken.begin() + begin, taken.begin() + end, id);
      parts.emplace_back(at, at + token.size(), id);
      at += token.size();
    }
  }
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    for (end = begin; end < text.size() && (taken[end] < 0) == (taken[begin] < 0); ++end)
      ;
    if (taken[begin] < 0)
      parts.emplace_back(begin, end, -1);
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

TEST(SpecialTokens, TheLongestTokenTakesItsPlacesFirst) {
  TokenizerData data;
  data.tokens = {"aa", "aaa", "ab", "bbb"};
  data.types.assign(4, static_cast<int32_t>(TokenType::userDefined));
  EXPECT_EQ(found(data, {{"aaaaab", false}}), (Parts{{0, 3, 1}, {3, 5, 0}, {5, 6, -1}}));
  EXPECT_EQ(found(data, {{"abbb", false}}), (Parts{{0, 1, -1}, {1, 4, 3}}));
  EXPECT_EQ(found(data, {{"", false}}), Parts{});
}

TEST(SpecialTokens, EqualsTheRuleStatedPlainly) {
  std::mt19937 random(21);
  size_t tokens = 0;
  for (int round = 0; round < 2000; ++round) {
    auto word = [&](uint32_t length) {
      std::string text;
      while (text.size() < length)
        text += "abc"[random() % (random() % 2 ? 3 : 1)];
      return text;
    };
    TokenizerData data;
    for (int i = 0; i < 8; ++i) {
      std::string token = word(1 + random() % 5);
      if (std::find(data.tokens.begin(), data.tokens.end(), token) != data.tokens.end())
        continue;
      data.tokens.push_back(token);
      const TokenType types[] = {TokenType::control, TokenType::userDefined, TokenType::normal};
      data.types.push_back(static_cast<int32_t>(types[random() % 3]));
    }
    std::vector<TextSegment> segments;
    for (uint32_t count = 1 + random() % 4; count > 0; --count)
      segments.push_back({word(1 + random() % 12), random() % 2 == 0});
    const Parts parts = found(data, segments);
    ASSERT_EQ(parts, foundPlainly(data, segments)) << round;
    tokens += static_cast<size_t>(std::count_if(
        parts.begin(), parts.end(), [](const auto &part) { return std::get<2>(part) >= 0; }));
  }
  EXPECT_GT(tokens, 2000u);
}

} // namespace
} // namespace writ::test
