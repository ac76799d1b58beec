//===- thread_pool.h - chunks of a kernel's units over threads ------------===//
//
// [0, units) is cut into a contiguous part for each thread and a part into a few chunks, by nothing
// but the number of units and of threads. A thread runs the chunks of its own part, ascending, so
// that it reads what follows, and then those of others that have not been begun, the last ones
// first: under a causal mask they are the longest, and the owner is farthest from them. Where the
// system runs something else on a processor, the thread that was to run there holds back one chunk
// at most, and none where it had not begun one. So who runs a unit is a matter of time; no bit may
// depend on it (writ_body).
//
// Each worker has a mailbox of its own: a worker that has no part in a run is not touched by it,
// and the number of threads may change from one run to the next. A waiting thread spins for a
// bounded time and then sleeps in the kernel; it never spins where there are more threads than
// processors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
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
  /// threads than `processors` nobody spins. `pins`, where it is not empty, has a processor for
  /// each thread: workers are bound to theirs, the caller is its own affair. Throws Failure.
  ThreadPool(int threads, int processors, std::span<const int> pins = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return threadCount; }
  int active() const { return activeCount; }
  /// Uses `count` threads, in 1 .. threads(), from the next run on.
  void setActive(int count);

  /// Runs body(args, begin, end) over chunks of [0, units) and returns when all are done. The
  /// caller runs the first one; with one unit or one thread it runs everything, and nobody is
  /// woken.
  void run(writ_body body, const void *args, int64_t units);

  /// Of the last run that had units; null before the first.
  writ_body lastBody() const { return bodyThatRan; }
  /// Makes `body` the last one, where a run of more than one body is named after its first.
  void note(writ_body body) { bodyThatRan = body; }

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
    std::atomic<uint32_t> ticket{0}; ///< the number of the run that it is to help with
    std::atomic<uint32_t> parked{0};
    std::thread thread;
  };
  /// The chunks of a part that nobody has begun: the number of the run (32 bits), then the first
  /// one and the one behind the last (16 bits each). Who takes one with the number of a run that is
  /// over finds that number gone.
  struct alignas(64) Claim {
    std::atomic<uint64_t> left{0};
  };
  static constexpr uint64_t claimWord(uint32_t number, uint32_t first, uint32_t end) {
    return uint64_t(number) << 32 | first << 16 | end;
  }
  /// Written before the claims of the run are, read after one of them was taken.
  struct Run {
    writ_body body = nullptr;
    const void *args = nullptr;
    int64_t units = 0, parts = 0;
  };

  void work(int index);
  void post(Worker &worker, uint32_t number);
  bool take(int64_t part, bool own, uint32_t number, Range *chunk);
  void help(int64_t first, uint32_t number, uint32_t done);
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
  std::unique_ptr<Claim[]> claims; ///< [threads]
  std::atomic<uint32_t> spinLimit{0};
  std::atomic<bool> ending{false};
  Run current;
  uint32_t runNumber = 0;
  std::atomic<int64_t> partsOfRun{0};           ///< a hint of how far to look for chunks
  alignas(64) std::atomic<uint32_t> pending{0}; ///< chunks of this run that are not done
  std::atomic<uint32_t> callerParked{0};
};

} // namespace writ

/// What kernel_abi.h calls a pool.
struct writ_pool : writ::ThreadPool {
  using ThreadPool::ThreadPool;
};
