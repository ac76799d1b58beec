#include "tests/mutation/MutateJson.h"

#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

namespace writ::test {
namespace {

/// Offset and length.
using Part = std::pair<size_t, size_t>;

/// Where each string, number and word stands.
std::vector<Part> scalarsOf(const std::string &text) {
  std::vector<Part> found;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      while (end < text.size() && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
      found.push_back({at, std::min(end + 1, text.size()) - at});
      at = end + 1;
    } else if (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '-') {
      end = std::min(text.find_first_of(",]} \n", at), text.size());
      found.push_back({at, end - at});
      at = end;
    } else {
      ++at;
    }
  }
  return found;
}

std::string otherValue(const std::string &text, Xorshift &random) {
  static const std::string values[] = {"null",
                                       "true",
                                       "-1",
                                       "0",
                                       "1",
                                       "3",
                                       "1e999",
                                       "1e300",
                                       "4294967296",
                                       "4611686018427387904",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "0.5",
                                       "\"\"",
                                       "\"x\"",
                                       "\"..\"",
                                       "\"layer\"",
                                       "\"width / 0\"",
                                       "\"{layer}{nothing}\"",
                                       "\"-9223372036854775807 - 2\"",
                                       "\"#\"",
                                       "[]",
                                       "{}",
                                       "[[[[[[[[]]]]]]]]",
                                       "\"\\u0000\"",
                                       "\"\xc3\x28\""};
  const std::vector<Part> scalars = scalarsOf(text);
  if (scalars.empty())
    return values[random.below(std::size(values))];
  const auto [at, size] = scalars[random.below(scalars.size())];
  const auto [from, length] = scalars[random.below(scalars.size())];
  const std::string by =
      random.below(3) == 0 ? text.substr(from, length) : values[random.below(std::size(values))];
  return text.substr(0, at) + by + text.substr(at + size);
}

/// One line gone, or standing at another place too.
std::string otherLines(const std::string &text, Xorshift &random) {
  const size_t before = text.rfind('\n', random.below(text.size() + 1));
  const size_t start = before == std::string::npos ? 0 : before + 1;
  const size_t size = std::min(text.find('\n', start), text.size() - 1) + 1 - start;
  if (random.below(2) == 0)
    return text.substr(0, start) + text.substr(start + size);
  const size_t to = text.find('\n', random.below(text.size()));
  std::string result = text;
  return result.insert(to == std::string::npos ? 0 : to + 1, text.substr(start, size));
}

} // namespace

std::string mutateJson(const std::string &text, Xorshift &random) {
  switch (text.empty() ? 0 : random.below(8)) {
  case 1:
  case 2:
    return random.mutate(text, text.size());
  case 3:
    return otherLines(text, random);
  default:
    return otherValue(text, random);
  }
}

} // namespace writ::test
