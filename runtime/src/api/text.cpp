//===- text.cpp - the C API: text and token ids ---------------------------===//

#include "package/package.h"
#include "support/error.h"

#include <algorithm>
#include <cstring>

using namespace writ;

namespace {

/// Hands `values` out as writ.h says: all of them or none, and their number in any case.
template <class Values, class T>
writ_status handOut(const Values &values, const char *name, T *buffer, int64_t capacity,
                    int64_t *needed, writ_error *error) {
  const int64_t count = int64_t(values.size());
  if (needed)
    *needed = count;
  if (capacity < 0 || (!buffer && capacity > 0))
    return report(error, WRIT_INVALID_ARGUMENT, "{} is {} and capacity is {}", name,
                  buffer ? "set" : "null", capacity);
  if (count > capacity)
    return report(error, WRIT_BUFFER_TOO_SMALL, "{} has room for {}, but {} are needed", name,
                  capacity, count);
  std::copy(values.begin(), values.end(), buffer);
  return WRIT_OK;
}

writ_status readConversation(const writ_package *package, const writ_message *messages,
                             int64_t count, std::vector<TextSegment> *segments, writ_error *error) {
  if (!package)
    return report(error, WRIT_INVALID_ARGUMENT, "package is null");
  if (!package->chat())
    return report(error, WRIT_UNSUPPORTED, "{}", package->chatFault());
  if (count < 1 || !messages)
    return report(error, WRIT_INVALID_ARGUMENT,
                  "messages is {} and count is {}, expected 1 or more", messages ? "set" : "null",
                  count);
  std::optional<std::string> system;
  std::vector<ChatTurn> turns;
  for (int64_t i = 0; i < count; ++i) {
    if (!messages[i].role || !messages[i].content)
      return report(error, WRIT_INVALID_ARGUMENT, "messages[{}].{} is null", i,
                    messages[i].role ? "content" : "role");
    const bool isSystem = std::strcmp(messages[i].role, "system") == 0;
    if (isSystem && i > 0)
      return report(error, WRIT_INVALID_ARGUMENT,
                    "messages[{}] is of role 'system', which may only stand first", i);
    if (isSystem)
      system = messages[i].content;
    else
      turns.push_back({messages[i].role, messages[i].content});
  }
  std::string fault;
  if (!renderChat(*package->chat(), system, turns, segments, &fault))
    return report(error, WRIT_INVALID_ARGUMENT, "messages: {}", fault);
  return WRIT_OK;
}

} // namespace

extern "C" {

writ_status writ_tokenize(const writ_package *package, const char *text, int64_t bytes,
                          int32_t flags, int32_t *ids, int64_t capacity, int64_t *needed,
                          writ_error *error) {
  return guarded(error, [&] {
    if (!package)
      return report(error, WRIT_INVALID_ARGUMENT, "package is null");
    if (bytes < 0 || (!text && bytes > 0))
      return report(error, WRIT_INVALID_ARGUMENT, "text is {} and bytes is {}",
                    text ? "set" : "null", bytes);
    if (flags & ~(WRIT_TOKENIZE_ADD_SPECIAL | WRIT_TOKENIZE_PARSE_SPECIAL))
      return report(error, WRIT_INVALID_ARGUMENT, "flags is {}, which has unknown bits", flags);
    const EncodeOptions options{(flags & WRIT_TOKENIZE_ADD_SPECIAL) != 0,
                                (flags & WRIT_TOKENIZE_PARSE_SPECIAL) != 0};
    const std::string_view view = bytes > 0 ? std::string_view(text, size_t(bytes)) : "";
    return handOut(package->tokenizer().encode(view, options), "ids", ids, capacity, needed, error);
  });
}

writ_status writ_detokenize(const writ_package *package, const int32_t *ids, int64_t count,
                            int32_t special, char *text, int64_t capacity, int64_t *needed,
                            writ_error *error) {
  return guarded(error, [&] {
    if (!package)
      return report(error, WRIT_INVALID_ARGUMENT, "package is null");
    if (count < 0 || (!ids && count > 0))
      return report(error, WRIT_INVALID_ARGUMENT, "ids is {} and count is {}", ids ? "set" : "null",
                    count);
    const int64_t vocabulary = package->model().vocabulary;
    for (int64_t i = 0; i < count; ++i)
      if (ids[i] < 0 || ids[i] >= vocabulary)
        return report(error, WRIT_INVALID_ARGUMENT, "ids[{}] is token {}, expected 0 to {}", i,
                      ids[i], vocabulary - 1);
    const std::string decoded =
        package->tokenizer().decode(std::span(ids, size_t(count)), special != 0);
    return handOut(decoded, "text", text, capacity, needed, error);
  });
}

int32_t writ_token_ends_generation(const writ_package *package, int32_t id) {
  return package && package->endsGeneration(id);
}

writ_status writ_chat_tokenize(const writ_package *package, const writ_message *messages,
                               int64_t count, int32_t *ids, int64_t capacity, int64_t *needed,
                               writ_error *error) {
  return guarded(error, [&] {
    std::vector<TextSegment> segments;
    if (const writ_status status = readConversation(package, messages, count, &segments, error);
        status != WRIT_OK)
      return status;
    return handOut(package->tokenizer().encodeSegments(segments, /*addSpecial=*/false), "ids", ids,
                   capacity, needed, error);
  });
}

writ_status writ_chat_render(const writ_package *package, const writ_message *messages,
                             int64_t count, char *text, int64_t capacity, int64_t *needed,
                             writ_error *error) {
  return guarded(error, [&] {
    std::vector<TextSegment> segments;
    if (const writ_status status = readConversation(package, messages, count, &segments, error);
        status != WRIT_OK)
      return status;
    std::string rendered;
    for (const TextSegment &segment : segments)
      rendered += segment.text;
    return handOut(rendered, "text", text, capacity, needed, error);
  });
}

} // extern "C"
