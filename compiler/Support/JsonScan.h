//===- JsonScan.h - where the tokens of nlohmann's SAX reader stand -------===//
//
// The SAX interface reports values without positions. It reports each one right after it has read
// it, so the place is known from two facts: how far the reader has come, which CountingIterator
// records, and where the token before it ended, which TokenTracker keeps.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace writ {

/// An iterator over text that records in `*count` how many bytes have been taken.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(std::string_view text, size_t position, size_t *count)
      : text(text), position(position), count(count) {}

  reference operator*() const { return text[position]; }
  CountingIterator &operator++() {
    *count = ++position;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator &other) const { return position == other.position; }

private:
  std::string_view text;
  size_t position;
  size_t *count;
};

/// Byte offsets of tokens. Call one of the take functions for each event, in order.
class TokenTracker {
public:
  explicit TokenTracker(std::string_view text) : text(text) {
    if (text.starts_with("\xef\xbb\xbf"))
      end = taken = 3; // the reader skips a byte order mark
  }

  CountingIterator first() { return {text, 0, &taken}; }
  CountingIterator last() { return {text, text.size(), &taken}; }

  /// A token that ends where the reader stands: a string, a literal, a bracket. Gives its start.
  size_t take() {
    size_t start = next();
    end = taken;
    return start;
  }

  /// A number: the reader has looked one byte further to find its end. Gives its text.
  std::string_view takeNumber() {
    size_t start = next();
    end = text.find_first_not_of("+-.0123456789Ee", start);
    if (end == std::string_view::npos)
      end = text.size();
    return text.substr(start, end - start);
  }

  size_t offsetOf(std::string_view part) const {
    return static_cast<size_t>(part.data() - text.data());
  }

  /// Where the reader gave up, `consumed` bytes into the text: the start of the token that should
  /// not be there, or the byte inside a token that cannot be.
  size_t errorOffset(size_t consumed, bool wholeToken) const {
    size_t last = consumed == 0 ? 0 : consumed - 1;
    size_t start = next();
    if (taken == text.size() && consumed > text.size())
      return text.size(); // the text ends too early
    return wholeToken && start < last ? start : last;
  }

private:
  /// The first byte behind the last token that is neither white space nor a separator.
  size_t next() const {
    size_t start = text.find_first_not_of(" \t\r\n,:", end);
    return start == std::string_view::npos ? text.size() : start;
  }

  std::string_view text;
  size_t taken = 0; ///< bytes that the reader has taken
  size_t end = 0;   ///< end of the last token
};

/// nlohmann's syntax error without the library's name, its position and its "last read" excerpt.
inline std::string_view syntaxProblem(std::string_view what) {
  if (size_t start = what.find("column "); start != std::string_view::npos)
    if (size_t colon = what.find(": ", start); colon != std::string_view::npos)
      what.remove_prefix(colon + 2);
  if (size_t bracket = what.find("] ");
      what.starts_with("[json.exception") && bracket != std::string_view::npos)
    what.remove_prefix(bracket + 2);
  size_t excerpt = what.find("; last read: '");
  if (excerpt == std::string_view::npos)
    return what;
  return what.substr(0, excerpt);
}

} // namespace writ
