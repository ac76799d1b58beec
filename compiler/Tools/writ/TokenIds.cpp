#include "compiler/Tools/writ/TokenIds.h"

#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Support/Utf8.h"

#include <charconv>
#include <fmt/format.h>

namespace writ::tool {
namespace {

/// Reads `[1, 2, 3]`, or numbers between which stand white space, one comma, or both.
class IdReader {
public:
  IdReader(const std::string &text, const std::string &source)
      : source(source), begin(text.data()), at(begin), end(begin + text.size()) {}

  std::vector<int32_t> read() {
    std::vector<int32_t> ids;
    const bool list = accept('[');
    if (list ? accept(']') : atEnd())
      return requireEnd(ids);
    while (true) {
      ids.push_back(number());
      const char *behind = at;
      const bool comma = accept(',');
      if (!comma && list ? accept(']') : atEnd() && !comma)
        return requireEnd(ids);
      if (!comma && (list || at == behind))
        fail(list ? "',' or ']'" : "white space or ','");
    }
  }

private:
  void skipSpace() {
    while (at != end && std::string_view(" \t\n\r").find(*at) != std::string_view::npos)
      ++at;
  }
  bool atEnd() {
    skipSpace();
    return at == end;
  }
  bool accept(char wanted) {
    skipSpace();
    const bool found = at != end && *at == wanted;
    at += found;
    return found;
  }
  int32_t number() {
    skipSpace();
    int32_t id = 0;
    const auto [next, code] = std::from_chars(at, end, id);
    if (code != std::errc())
      fail("a token id");
    at = next;
    return id;
  }
  std::vector<int32_t> requireEnd(std::vector<int32_t> &ids) {
    if (!atEnd())
      fail("the end");
    return std::move(ids);
  }
  [[noreturn]] void fail(const char *wanted) const {
    const std::string_view rest(at, size_t(end - at));
    throw Error({source}, "E051",
                fmt::format("expected {} at byte {}, got {}", wanted, at - begin,
                            rest.empty() ? "the end" : "'" + printable(rest, 12) + "'"));
  }

  const std::string &source;
  const char *begin, *at, *end;
};

} // namespace

std::vector<int32_t> parseIds(const std::string &text, const std::string &source) {
  return IdReader(text, source).read();
}

} // namespace writ::tool
