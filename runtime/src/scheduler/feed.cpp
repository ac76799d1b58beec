//===- feed.cpp - many tokens for one sequence, a chunk at a time ---------===//

#include "scheduler/session.h"
#include "support/error.h"

namespace writ {

writ_status Session::feed(writ_sequence handle, const int32_t *ids, int64_t count,
                          writ_outputs outputs, writ_chunk_callback callback, void *user,
                          const volatile int32_t *stop, writ_error *error) {
  SequenceId sequence;
  if (const writ_status status = findSequence(handle, &sequence, error); status != WRIT_OK)
    return status;
  if (!ids)
    return report(error, WRIT_INVALID_ARGUMENT, "ids is null");
  const TokenCount start = sequenceTable.length(sequence);
  if (count < 1)
    return report(error, WRIT_INVALID_ARGUMENT, "count is {}, expected 1 or more", count);
  if (count > settings.context_tokens - start.raw())
    return report(error, WRIT_CONTEXT_FULL, "{} tokens after {} do not fit: context_tokens is {}",
                  count, start.raw(), settings.context_tokens);
  for (int64_t i = 0; i < count; ++i)
    if (const writ_status status = checkToken(ids[i], "ids", i, error); status != WRIT_OK)
      return status;
  const TokenCount end = start + TokenCount(count);
  if (!kv.grow(sequence, end))
    return report(error, WRIT_OUT_OF_PAGES,
                  "{} tokens after {} need {} KV pages more, but {} are free; release or rewind a "
                  "sequence, or raise kv_tokens",
                  count, start.raw(), (pagesFor(end, kv.pageSize()) - kv.held(sequence)).raw(),
                  kv.available().raw());

  const int64_t chunk = outputs == WRIT_OUTPUTS_ALL
                            ? std::min(settings.max_rows, settings.max_outputs)
                            : settings.max_rows;
  const auto undo = [&] {
    kv.shrink(sequence, start);
    sequenceTable.setLength(sequence, start);
  };
  for (int64_t first = 0; first < count; first += chunk) {
    const int64_t rows = std::min(chunk, count - first);
    if (stopped(stop)) {
      undo();
      return report(error, WRIT_STOPPED, "stopped after {} of {} tokens", first, count);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const bool wanted =
          outputs == WRIT_OUTPUTS_ALL || (outputs == WRIT_OUTPUTS_LAST && first + i == count - 1);
      rowTables.fed[i] = {handle, ids[first + i], wanted};
    }
    const writ_status status = step(rowTables.fed.data(), rows, stop, error);
    if (status != WRIT_OK)
      undo();
    if (status == WRIT_STOPPED)
      return report(error, status, "stopped after {} of {} tokens", first, count);
    if (status != WRIT_OK)
      return status;
    const auto tell = [&] {
      return callback(user, static_cast<writ_session *>(this), first + rows - outputsReady.raw(),
                      outputsReady.raw());
    };
    if (callback && callbackStops(tell)) {
      undo();
      return report(error, WRIT_STOPPED, "stopped by the callback after {} of {} tokens",
                    first + rows, count);
    }
  }
  return WRIT_OK;
}

} // namespace writ
