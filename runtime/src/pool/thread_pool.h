//===- thread_pool.h - a static partition over threads --------------------===//
//
// The pool's threads run contiguous parts of [0, units) that depend on nothing but the number of
// units and of threads. Each worker has a mailbox of its own, so a worker that has no part in a run
// is not touched by it, and the number of threads may change from one run to the next.
//
// A waiting thread spins for a bounded time and then sleeps in the kernel; it never spins where
// there are more threads than processors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

namespace writ {

struct Range {
  int64_t begin;
  int64_t end;
};

/// Part `index` of `parts` of [0, units): contiguous, in order, sizes that differ by at most one.
constexpr Range staticPart(int64_t units, int64_t parts, int64_t index) {
  const int64_t size = units / parts, longer = units % parts;
  const int64_t begin = index * size + (index < longer ? index : longer);
  return {begin, begin + size + (index < longer ? 1 : 0)};
}

/// One thread at a time may call run, setActive, watch, stops and endWatch.
class ThreadPool {
public:
  static constexpr int kMaxThreads = 1024;

  /// `threads` (1 .. kMaxThreads) counts the caller; threads - 1 workers are started. With more
  /// threads than `processors` nobody spins.
  ThreadPool(int threads, int processors);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return threadCount; }
  int active() const { return activeCount; }
  /// Uses `count` threads, in 1 .. threads(), from the next run on.
  void setActive(int count);

  /// Runs body(args, begin, end) over parts of [0, units) and returns when all are done. The caller
  /// runs the first part; with one unit or one thread it runs everything, and nobody is woken.
  void run(writ_body body, const void *args, int64_t units);

  /// Of the last run that had units; null before the first.
  writ_body lastBody() const { return bodyThatRan; }

  /// From here to endWatch(), writ_launch looks at `flag` (may be null) before each kernel.
  void watch(const volatile int32_t *flag) { stopFlag = flag; }
  /// Whether the flag was seen to be not 0: no further kernel runs.
  bool stops() {
    isStopped = isStopped || (stopFlag && __atomic_load_n(stopFlag, __ATOMIC_RELAXED) != 0);
    return isStopped;
  }
  /// Whether a kernel was left out.
  bool endWatch() {
    stopFlag = nullptr;
    return std::exchange(isStopped, false);
  }

private:
  struct alignas(64) Worker {
    std::atomic<uint32_t> ticket{0}; ///< changes when there is a job
    std::atomic<uint32_t> parked{0};
    writ_body body = nullptr; ///< null: end the thread
    const void *args = nullptr;
    Range part{0, 0};
    std::thread thread;
  };

  void work(Worker &worker);
  void post(Worker &worker);
  void waitForWorkers();
  void stop();

  const int threadCount;
  const int processors;
  int activeCount;
  writ_body bodyThatRan = nullptr;
  const volatile int32_t *stopFlag = nullptr;
  bool isStopped = false;
  int started = 0;
  std::unique_ptr<Worker[]> workers;
  std::atomic<uint32_t> spinLimit{0};
  alignas(64) std::atomic<uint32_t> pending{0}; ///< parts of this run that workers still have
  std::atomic<uint32_t> callerParked{0};
};

} // namespace writ

/// What kernel_abi.h calls a pool.
struct writ_pool : writ::ThreadPool {
  using ThreadPool::ThreadPool;
};
