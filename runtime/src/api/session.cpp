//===- session.cpp - the C API: sessions, sequences, steps ----------------===//

#include "scheduler/session.h"

#include "scheduler/plan.h"
#include "support/error.h"
#include "support/struct_size.h"

using namespace writ;

namespace {

writ_status nullArgument(const char *name, writ_error *error) {
  return report(error, WRIT_INVALID_ARGUMENT, "{} is null", name);
}

/// Runs `action` as the one call in progress on the session.
template <class Action>
writ_status call(writ_session *session, writ_error *error, Action &&action,
                 bool fromCallback = false) {
  if (!session)
    return nullArgument("session", error);
  const Session::Call entered(*session, fromCallback);
  if (!entered)
    return report(
        error, WRIT_BUSY,
        "another call is in progress on this session; a session belongs to one thread at a "
        "time, and a callback may only read outputs");
  return guarded(error, action);
}

writ_status readSessionOptions(const writ_package *package, const writ_session_options *given,
                               writ_session_options *options, writ_error *error) {
  if (!package)
    return nullArgument("package", error);
  return readOptions(given, writ_session_options_init, "writ_session_options", options, error);
}

} // namespace

extern "C" {

writ_status writ_plan_memory(const writ_package *package, const writ_session_options *given,
                             writ_memory_plan *plan, writ_error *error) {
  writ_session_options options;
  if (const writ_status status = readSessionOptions(package, given, &options, error);
      status != WRIT_OK)
    return status;
  return guarded(error, [&] {
    return writeResult(planMemory(*package, resolveOptions(*package, options)), "writ_memory_plan",
                       plan, error);
  });
}

writ_status writ_session_create(const writ_package *package, const writ_session_options *given,
                                writ_session **session, writ_error *error) {
  if (!session)
    return nullArgument("session", error);
  *session = nullptr;
  writ_session_options options;
  if (const writ_status status = readSessionOptions(package, given, &options, error);
      status != WRIT_OK)
    return status;
  return guarded(error, [&] {
    const writ_session_options resolved = resolveOptions(*package, options);
    planMemory(*package, resolved); // refuses sizes that do not fit, before anything is allocated
    *session = new writ_session(*package, resolved);
    return WRIT_OK;
  });
}

writ_status writ_session_destroy(writ_session *session, writ_error *error) {
  if (!session)
    return WRIT_OK;
  {
    const Session::Call entered(*session, /*fromCallback=*/false);
    if (!entered)
      return report(error, WRIT_BUSY, "a call is in progress on this session");
  }
  return guarded(error, [&] {
    delete session;
    return WRIT_OK;
  });
}

writ_status writ_session_get_options(const writ_session *session, writ_session_options *options,
                                     writ_error *error) {
  if (!session)
    return nullArgument("session", error);
  return writeResult(session->options(), "writ_session_options", options, error);
}

writ_status writ_session_get_memory(const writ_session *session, writ_memory_plan *memory,
                                    writ_error *error) {
  if (!session)
    return nullArgument("session", error);
  return writeResult(session->allocated(), "writ_memory_plan", memory, error);
}

writ_status writ_session_set_threads(writ_session *session, int32_t threads, writ_error *error) {
  return call(session, error, [&] { return session->setThreads(threads, error); });
}

int64_t writ_session_free_pages(const writ_session *session) {
  return session ? session->freePages().raw() : 0;
}

writ_status writ_sequence_create(writ_session *session, writ_sequence *sequence,
                                 writ_error *error) {
  return call(session, error, [&] {
    if (!sequence)
      return nullArgument("sequence", error);
    return session->createSequence(sequence, error);
  });
}

writ_status writ_sequence_release(writ_session *session, writ_sequence sequence,
                                  writ_error *error) {
  return call(session, error, [&] { return session->release(sequence, error); });
}

writ_status writ_sequence_rewind(writ_session *session, writ_sequence sequence, int64_t length,
                                 writ_error *error) {
  return call(session, error, [&] { return session->rewind(sequence, length, error); });
}

writ_status writ_sequence_length(const writ_session *session, writ_sequence sequence,
                                 int64_t *length, writ_error *error) {
  if (!session)
    return nullArgument("session", error);
  if (!length)
    return nullArgument("length", error);
  const auto found = session->sequences().find(sequence);
  if (!found)
    return report(error, WRIT_INVALID_ARGUMENT,
                  "sequence {{slot {}, generation {}}} is not live in this session", sequence.slot,
                  sequence.generation);
  *length = session->sequences().length(*found).raw();
  return WRIT_OK;
}

writ_status writ_sequence_tokens(const writ_session *session, writ_sequence sequence, int32_t *ids,
                                 int64_t capacity, int64_t *needed, writ_error *error) {
  int64_t length = 0;
  if (const writ_status status = writ_sequence_length(session, sequence, &length, error);
      status != WRIT_OK)
    return status;
  if (needed)
    *needed = length;
  if (capacity < 0 || (!ids && capacity > 0))
    return report(error, WRIT_INVALID_ARGUMENT, "ids is {} and capacity is {}",
                  ids ? "set" : "null", capacity);
  if (length > capacity)
    return report(error, WRIT_BUFFER_TOO_SMALL, "ids has room for {}, but {} are needed", capacity,
                  length);
  std::copy_n(session->sequences().history(SequenceId(sequence.slot)), length, ids);
  return WRIT_OK;
}

writ_status writ_session_step(writ_session *session, const writ_step_row *rows, int64_t count,
                              writ_error *error) {
  return call(session, error, [&] { return session->step(rows, count, nullptr, error); });
}

writ_status writ_sequence_feed(writ_session *session, writ_sequence sequence, const int32_t *ids,
                               int64_t count, int32_t outputs, writ_chunk_callback callback,
                               void *user, const volatile int32_t *stop, writ_error *error) {
  return call(session, error, [&] {
    if (outputs < WRIT_OUTPUTS_NONE || outputs > WRIT_OUTPUTS_ALL)
      return report(error, WRIT_INVALID_ARGUMENT, "outputs is {}, expected a writ_outputs",
                    outputs);
    return session->feed(sequence, ids, count, writ_outputs(outputs), callback, user, stop, error);
  });
}

int64_t writ_session_output_count(const writ_session *session) {
  return session ? session->outputCount().raw() : 0;
}

const float *writ_session_logits(const writ_session *session, int64_t index) {
  return session ? session->logits(index) : nullptr;
}

writ_status writ_session_sample(writ_session *session, int64_t first, int64_t count,
                                const writ_sampling *sampling, int32_t *tokens, writ_error *error) {
  return call(
      session, error, [&] { return session->sample(first, count, sampling, tokens, error); },
      /*fromCallback=*/true);
}

writ_status writ_session_log_probabilities(writ_session *session, int64_t first, int64_t count,
                                           const int32_t *tokens, float *log_probabilities,
                                           writ_error *error) {
  return call(
      session, error,
      [&] { return session->logProbabilities(first, count, tokens, log_probabilities, error); },
      /*fromCallback=*/true);
}

writ_status writ_generate(writ_session *session, writ_sequence sequence, const int32_t *ids,
                          int64_t count, const writ_generate_options *given,
                          writ_generate_result *result, writ_error *error) {
  return call(session, error, [&] {
    writ_generate_options options;
    if (const writ_status status = readOptions(given, writ_generate_options_init,
                                               "writ_generate_options", &options, error);
        status != WRIT_OK)
      return status;
    writ_generate_result value{};
    if (result)
      if (const writ_status status = writeResult(value, "writ_generate_result", result, error);
          status != WRIT_OK)
        return status;
    const writ_status status = session->generate(sequence, ids, count, options, &value, error);
    if (result)
      writeResult(value, "writ_generate_result", result, nullptr);
    return status;
  });
}

} // extern "C"
