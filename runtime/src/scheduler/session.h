//===- session.h - KV, threads and sequences of one user ------------------===//
//
// One step, all or nothing (DESIGN.md, "Runtime"):
//   validate → reserve pages → run prefill or decode → commit lengths and tokens
// Until the commit nothing that a caller can see has changed; K, V and tokens written beyond a
// sequence's length are provisional. No function of a session allocates, but for generate.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "kv/kv_cache.h"
#include "package/package.h"
#include "pool/thread_pool.h"
#include "scheduler/row_tables.h"
#include "scheduler/sequence_table.h"
#include "support/memory.h"

#include <atomic>

namespace writ {

enum class StepStage { validated, reserved, ran };

/// One run of an entry of the model: contiguous rows and outputs of the row tables.
struct StepRun {
  RowCount firstRow, rows; ///< first: the rows before it
  OutputCount firstOutput, outputs;
  bool decode = false;
};

class Session {
public:
  /// `options` is resolved. Throws Failure.
  Session(const Package &package, const writ_session_options &options);
  ~Session() { package.sessions().fetch_sub(1); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const writ_session_options &options() const { return settings; }
  writ_memory_plan allocated() const;
  writ_status setThreads(int32_t threads, writ_error *error);
  PageCount freePages() const { return kv.available(); }

  writ_status createSequence(writ_sequence *sequence, writ_error *error);
  writ_status release(writ_sequence handle, writ_error *error);
  writ_status rewind(writ_sequence handle, int64_t length, writ_error *error);
  const SequenceTable &sequences() const { return sequenceTable; }

  /// WRIT_STOPPED where `stop` (may be null) became not 0 before the last kernel began.
  writ_status step(const writ_step_row *rows, int64_t count, const volatile int32_t *stop,
                   writ_error *error);
  writ_status feed(writ_sequence handle, const int32_t *ids, int64_t count, writ_outputs outputs,
                   writ_chunk_callback callback, void *user, const volatile int32_t *stop,
                   writ_error *error);

  OutputCount outputCount() const { return outputsReady; }
  const float *logits(int64_t index) const;
  /// `sampling` may be null: greedy.
  writ_status sample(int64_t first, int64_t count, const writ_sampling *sampling, int32_t *tokens,
                     writ_error *error);
  writ_status logProbabilities(int64_t first, int64_t count, const int32_t *tokens, float *out,
                               writ_error *error);
  writ_status generate(writ_sequence handle, const int32_t *ids, int64_t count,
                       const writ_generate_options &options, writ_generate_result *result,
                       writ_error *error);

  const KvCache &cache() const { return kv; }

  /// For tests: a true result fails the step at that stage.
  using Fault = bool (*)(void *user, StepStage stage);
  void setFault(Fault hook, void *user) {
    fault = hook;
    faultUser = user;
  }

  /// Marks the session busy while a call runs. Calls that only read outputs are let in while a
  /// callback runs.
  class Call {
  public:
    Call(Session &session, bool fromCallback);
    ~Call();
    explicit operator bool() const { return entered; }

  private:
    Session &session;
    int before;
    bool entered;
  };

private:
  enum State { kIdle, kBusy, kInCallback };

  writ_status findSequence(writ_sequence handle, SequenceId *sequence, writ_error *error) const;
  writ_status checkToken(int32_t token, const char *what, int64_t index, writ_error *error) const;
  writ_status validate(const writ_step_row *rows, int64_t count, OutputCount *outputs,
                       writ_error *error);
  writ_status stageAndRun(const writ_step_row *rows, int64_t count, OutputCount outputs,
                          const volatile int32_t *stop, writ_error *error);
  writ_status reserve(writ_error *error);
  void unreserve();
  int64_t stage(const writ_step_row *rows, int64_t count, StepRun *runs);
  void place(const writ_step_row *rows, int64_t count, bool all, StepRun *run);
  void run(const StepRun &run);
  void keepLogits(const StepRun &run);
  void commit(OutputCount outputs);
  void forgetRows();
  bool faultAt(StepStage stage) const { return fault && fault(faultUser, stage); }

  writ_step launchContext();
  writ_status checkOutputs(int64_t first, int64_t count, const void *array, const char *name,
                           writ_error *error) const;
  static writ_status readSampling(const writ_sampling *given, writ_sampling *out,
                                  writ_error *error);
  writ_status sampleParameters(int64_t output, const writ_sampling &sampling,
                               writ_sample_parameters *parameters, writ_error *error) const;
  bool stopped(const volatile int32_t *stop) const {
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
  }
  /// Runs a callback of the caller; calls that only read outputs are let in meanwhile. Not 0, or an
  /// exception, which goes no further, means stop.
  template <class Callback> bool callbackStops(Callback &&callback) {
    state.store(kInCallback);
    bool stops = true;
    try {
      stops = callback() != 0;
    } catch (...) {
    }
    state.store(kBusy);
    return stops;
  }

  const Package &package;
  const writ_session_options settings;
  KvCache kv;
  SequenceTable sequenceTable;
  RowTables rowTables;
  AlignedBuffer rowArena, outputArena, sampleScratch;
  AlignedBuffer kept;                ///< f32 [max_outputs][vocabulary], or empty (keptOutputs)
  AlignedBuffer partials;            ///< states of parts of attention's keys
  const float *logitsBase = nullptr; ///< f32 [outputs][vocabulary] of the last step
  OutputCount outputsReady;
  int64_t rowsTouched = 0;     ///< entries of rowTables.touched in use
  const std::vector<int> pins; ///< the processor of each thread, the caller's first; or empty
  writ_pool pool;
  std::atomic<int> state{kIdle};
  Fault fault = nullptr;
  void *faultUser = nullptr;
};

} // namespace writ

struct writ_session : writ::Session {
  using Session::Session;
};
