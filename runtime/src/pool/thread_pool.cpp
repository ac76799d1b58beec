#include "pool/thread_pool.h"

#include "pool/parking.h"
#include "support/cpu.h"
#include "support/error.h"
#include "support/float_environment.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>

namespace writ {
namespace {

/// Pauses before a waiting thread sleeps: 0.05 to 0.2 ms, longer than the gap between two kernels
/// of a step and shorter than what a person or a battery notices.
constexpr uint32_t kSpinPauses = 4096;

/// How long a worker keeps a processor before it offers it to others between two runs. Less than a
/// scheduler's slice (Linux: 0.7 to 3 ms): a thread that is taken off in the middle of a chunk
/// holds up everybody until it is back, one that goes between two runs nobody.
constexpr std::chrono::microseconds kGivesWayAfter{1000};

/// Chunks of a part. More of them leave less behind with a thread that is not run, and cost an
/// uncontended atomic operation each.
constexpr int64_t kChunks = 4;

int64_t chunksOf(const Range &part) {
  return std::min(kChunks, part.end - part.begin);
}

/// Blocks signals while threads are started, so that the program's handlers run on its own; but for
/// those that an instruction of the thread itself raises: blocked, they end the process unhandled.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP})
      sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &saved, nullptr); }

private:
  sigset_t saved;
};

} // namespace

ThreadPool::ThreadPool(int threads, int processors, std::span<const int> pins)
    : threadCount(threads), processors(processors), activeCount(1),
      workers(std::make_unique<Worker[]>(size_t(threads - 1))),
      claims(std::make_unique<Claim[]>(size_t(threads))) {
  setActive(threads);
  const SignalsBlocked blocked;
  try {
    for (; started < threads - 1; ++started)
      workers[size_t(started)].thread = std::thread([this, index = started + 1] { work(index); });
  } catch (const std::system_error &error) {
    stop();
    fail(WRIT_OUT_OF_MEMORY, "cannot start thread {} of {}: {}; lower `threads`", started + 2,
         threads, error.what());
  }
  for (int i = 0; i < started && !pins.empty(); ++i)
    if (const int error =
            pinThread(workers[size_t(i)].thread.native_handle(), pins[size_t(i) + 1])) {
      stop();
      fail(WRIT_UNSUPPORTED, "cannot bind thread {} of {} to processor {}: {}", i + 2, threads,
           pins[size_t(i) + 1], std::strerror(error));
    }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  ending.store(true, std::memory_order_relaxed);
  for (int i = 0; i < started; ++i)
    post(workers[size_t(i)], runNumber + 1);
  for (int i = 0; i < started; ++i)
    workers[size_t(i)].thread.join();
}

void ThreadPool::setActive(int count) {
  activeCount = count;
  spinLimit.store(count > processors ? 0 : kSpinPauses, std::memory_order_relaxed);
}

// A sleeper announces itself and then looks at the word once more; the other side changes the word
// and then looks for a sleeper. With sequential consistency at least one of the two sees the other.

void ThreadPool::post(Worker &worker, uint32_t number) {
  worker.ticket.store(number, std::memory_order_seq_cst);
  // Once for each sleep: one that was woken and does not run yet would cost a call in vain.
  if (worker.parked.load(std::memory_order_seq_cst) &&
      worker.parked.exchange(0, std::memory_order_seq_cst))
    unparkAll(worker.ticket);
}

void ThreadPool::work(int index) {
  const FloatEnvironment environment;
  Worker &worker = workers[size_t(index - 1)];
  using Clock = std::chrono::steady_clock;
  Clock::time_point cameOn = Clock::now();
  uint32_t seen = 0;
  for (;;) {
    uint32_t ticket = worker.ticket.load(std::memory_order_acquire);
    for (uint32_t spins = spinLimit.load(std::memory_order_relaxed); ticket == seen && spins;
         --spins) {
      spinPause();
      ticket = worker.ticket.load(std::memory_order_acquire);
    }
    while (ticket == seen) {
      worker.parked.store(1, std::memory_order_seq_cst);
      ticket = worker.ticket.load(std::memory_order_seq_cst);
      if (ticket == seen) {
        park(worker.ticket, seen);
        ticket = worker.ticket.load(std::memory_order_acquire);
      }
    }
    worker.parked.store(0, std::memory_order_relaxed);
    seen = ticket;
    if (ending.load(std::memory_order_relaxed))
      return;
    help(index, seen, 0);
    if (const Clock::time_point now = Clock::now(); now - cameOn > kGivesWayAfter) {
      std::this_thread::yield();
      cameOn = Clock::now();
    }
  }
}

/// Takes the first chunk left of its own part, the last one of another's. False where the run has
/// none left there, or is over.
bool ThreadPool::take(int64_t part, bool own, uint32_t number, Range *chunk) {
  std::atomic<uint64_t> &left = claims[size_t(part)].left;
  uint64_t word = left.load(std::memory_order_relaxed);
  uint32_t first = 0, end = 0;
  uint64_t rest = 0;
  do {
    first = uint32_t(word >> 16) & 0xffff, end = uint32_t(word) & 0xffff;
    if (uint32_t(word >> 32) != number || first == end)
      return false;
    rest = own ? claimWord(number, first + 1, end) : claimWord(number, first, end - 1);
  } while (!left.compare_exchange_weak(word, rest, std::memory_order_acquire,
                                       std::memory_order_relaxed));
  // The run cannot end before this chunk is done, so that it stays `current`.
  const Range all = staticPart(current.units, current.parts, part);
  const Range within = staticPart(all.end - all.begin, chunksOf(all), own ? first : end - 1);
  *chunk = {all.begin + within.begin, all.begin + within.end};
  return true;
}

/// Runs chunks until none is left, its own part's first. `done`: chunks that it has run already.
void ThreadPool::help(int64_t first, uint32_t number, uint32_t done) {
  const int64_t parts = partsOfRun.load(std::memory_order_relaxed);
  for (int64_t i = 0; i < parts; ++i)
    for (Range chunk; take((first + i) % parts, i == 0, number, &chunk); ++done)
      current.body(current.args, chunk.begin, chunk.end);
  if (done > 0 && pending.fetch_sub(done, std::memory_order_seq_cst) == done &&
      callerParked.load(std::memory_order_seq_cst))
    unparkAll(pending);
}

void ThreadPool::waitForWorkers() {
  for (uint32_t spins = spinLimit.load(std::memory_order_relaxed); spins; --spins) {
    if (pending.load(std::memory_order_acquire) == 0)
      return;
    spinPause();
  }
  callerParked.store(1, std::memory_order_seq_cst);
  for (uint32_t left; (left = pending.load(std::memory_order_seq_cst)) != 0;)
    park(pending, left);
  callerParked.store(0, std::memory_order_relaxed);
}

void ThreadPool::run(writ_body body, const void *args, int64_t units) {
  if (units <= 0)
    return;
  bodyThatRan = body;
  const int64_t parts = units < activeCount ? units : activeCount;
  if (parts == 1) {
    body(args, 0, units);
    return;
  }
  ++runNumber;
  current = {body, args, units, parts};
  partsOfRun.store(parts, std::memory_order_relaxed);
  uint32_t chunks = 0;
  for (int64_t i = 0; i < parts; ++i)
    chunks += uint32_t(chunksOf(staticPart(units, parts, i)));
  pending.store(chunks, std::memory_order_relaxed);
  for (int64_t i = 0; i < parts; ++i)
    claims[size_t(i)].left.store(
        claimWord(runNumber, 0, uint32_t(chunksOf(staticPart(units, parts, i)))),
        std::memory_order_release);
  Range own;
  take(0, true, runNumber, &own);
  for (int64_t i = 1; i < parts; ++i)
    post(workers[size_t(i - 1)], runNumber);
  body(args, own.begin, own.end);
  help(0, runNumber, 1);
  waitForWorkers();
}

} // namespace writ
