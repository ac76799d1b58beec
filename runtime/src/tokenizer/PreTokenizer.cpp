#define PCRE2_CODE_UNIT_WIDTH 8
#include "PreTokenizer.h"
#include "Utf8.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <pcre2.h>

namespace writ {
namespace {

enum class CharacterClass : uint8_t { letter, number, other };

struct ClassRange {
  uint32_t first, last;
  CharacterClass characterClass;
};

constexpr ClassRange pinnedClasses[] = {
#define UNICODE_CLASS(first, last, name) {first, last, CharacterClass::name},
#include "UnicodeRevision.def"
};

/// A character of the given class and encoded length that every Unicode version classes alike.
/// `other` is U+00AD, U+FFFE or U+1FFFE.
uint32_t representative(CharacterClass characterClass, size_t length) {
  constexpr uint32_t table[3][3] = {
      {0x00E9, 0x4E00, 0x20000}, {0x00B2, 0x2460, 0x10107}, {0x00AD, 0xFFFE, 0x1FFFE}};
  return table[static_cast<size_t>(characterClass)][length - 2];
}

/// The text that the patterns see: `text` with characters whose class is pinned, and surrogates,
/// replaced by a representative of the same length. Valid UTF-8. Returns `text` itself (and leaves
/// `storage` alone) where there is nothing to replace.
std::string_view subjectOf(std::string_view text, std::string &storage) {
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    size_t start = i;
    uint32_t codePoint = utf8::readLenient(text, i);
    auto range = std::lower_bound(
        std::begin(pinnedClasses), std::end(pinnedClasses), codePoint,
        [](const ClassRange &range, uint32_t value) { return range.last < value; });
    if (range == std::end(pinnedClasses) || codePoint < range->first)
      continue;
    if (storage.empty())
      storage = text;
    std::string character;
    utf8::append(character, representative(range->characterClass, i - start));
    storage.replace(start, i - start, character);
  }
  return storage.empty() ? text : storage;
}

struct MatchDeleter {
  void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
};
struct ContextDeleter {
  void operator()(pcre2_match_context *context) const { pcre2_match_context_free(context); }
};
using MatchData = std::unique_ptr<pcre2_match_data, MatchDeleter>;
using MatchContext = std::unique_ptr<pcre2_match_context, ContextDeleter>;

/// The next match of `code` in `piece` at or after `start`; false where there is none.
bool match(const pcre2_code *code, std::string_view piece, size_t start, pcre2_match_data *data,
           pcre2_match_context *context) {
  auto run = [&](uint32_t options) {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(piece.data()), piece.size(), start,
                       PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | options, data, context);
  };
  int status = run(0);
  if (status == PCRE2_ERROR_JIT_STACKLIMIT)
    status = run(PCRE2_NO_JIT);
  if (status >= 0)
    return true;
  if (status == PCRE2_ERROR_NOMATCH)
    return false;
  throw std::bad_alloc(); // the limits are off, so that nothing else is left
}

using Range = std::pair<size_t, size_t>;

std::vector<Range> splitPieces(const pcre2_code *code, std::string_view subject,
                               const std::vector<Range> &pieces, pcre2_match_context *context) {
  MatchData data(pcre2_match_data_create(1, nullptr));
  if (!data)
    throw std::bad_alloc();
  std::vector<Range> out;
  out.reserve(pieces.size());
  for (auto [begin, end] : pieces) {
    std::string_view piece = subject.substr(begin, end - begin);
    size_t done = 0;
    while (done < piece.size() && match(code, piece, done, data.get(), context)) {
      const size_t *offsets = pcre2_get_ovector_pointer(data.get());
      if (offsets[0] > done)
        out.emplace_back(begin + done, begin + offsets[0]);
      out.emplace_back(begin + offsets[0], begin + offsets[1]);
      done = offsets[1];
    }
    if (done < piece.size())
      out.emplace_back(begin + done, end);
  }
  return out;
}

} // namespace

std::unique_ptr<PreTokenizer> PreTokenizer::make(const PreTokenizerSpec &spec, std::string *error) {
  std::unique_ptr<PreTokenizer> made(new PreTokenizer);
  for (const std::string &pattern : spec.split) {
    int status = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code *code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &status, &offset, nullptr);
    if (!code) {
      PCRE2_UCHAR message[256] = {};
      pcre2_get_error_message(status, message, std::size(message));
      *error = "pattern '" + pattern + "' of pre-tokenizer '" + spec.name +
               "' does not compile at offset " + std::to_string(offset) + ": " +
               reinterpret_cast<const char *>(message);
      return nullptr;
    }
    made->patterns.push_back(code);
    pcre2_jit_compile(code,
                      PCRE2_JIT_COMPLETE); // where it is not available, the interpreter serves
  }
  return made;
}

PreTokenizer::~PreTokenizer() {
  for (pcre2_code *code : patterns)
    pcre2_code_free(code);
}

void PreTokenizer::split(std::string_view text,
                         const std::function<void(size_t, size_t)> &piece) const {
  if (text.empty())
    return;
  std::string storage;
  std::string_view subject = subjectOf(text, storage);
  MatchContext context(pcre2_match_context_create(nullptr));
  if (!context)
    throw std::bad_alloc();
  pcre2_set_match_limit(context.get(), UINT32_MAX);
  pcre2_set_depth_limit(context.get(), UINT32_MAX);
  pcre2_set_heap_limit(context.get(), UINT32_MAX);
  std::vector<Range> pieces{{0, text.size()}};
  for (const pcre2_code *code : patterns)
    pieces = splitPieces(code, subject, pieces, context.get());
  for (auto [begin, end] : pieces)
    piece(begin, end);
}

} // namespace writ
