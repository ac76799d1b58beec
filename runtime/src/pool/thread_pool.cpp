#include "pool/thread_pool.h"

#include "pool/parking.h"
#include "support/error.h"
#include "support/float_environment.h"

#include <csignal>
#include <system_error>

namespace writ {
namespace {

/// Pauses before a waiting thread sleeps: 0.05 to 0.2 ms, longer than the gap between two kernels
/// of a step and shorter than what a person or a battery notices.
constexpr uint32_t kSpinPauses = 4096;

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

ThreadPool::ThreadPool(int threads, int processors)
    : threadCount(threads), processors(processors), activeCount(1),
      workers(std::make_unique<Worker[]>(size_t(threads - 1))) {
  setActive(threads);
  const SignalsBlocked blocked;
  try {
    for (; started < threads - 1; ++started) {
      Worker &worker = workers[size_t(started)];
      worker.thread = std::thread([this, &worker] { work(worker); });
    }
  } catch (const std::system_error &error) {
    stop();
    fail(WRIT_OUT_OF_MEMORY, "cannot start thread {} of {}: {}; lower `threads`", started + 2,
         threads, error.what());
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  for (int i = 0; i < started; ++i) {
    workers[size_t(i)].body = nullptr;
    post(workers[size_t(i)]);
  }
  for (int i = 0; i < started; ++i)
    workers[size_t(i)].thread.join();
}

void ThreadPool::setActive(int count) {
  activeCount = count;
  spinLimit.store(count > processors ? 0 : kSpinPauses, std::memory_order_relaxed);
}

// A sleeper announces itself and then looks at the word once more; the other side changes the word
// and then looks for a sleeper. With sequential consistency at least one of the two sees the other.

void ThreadPool::post(Worker &worker) {
  worker.ticket.fetch_add(1, std::memory_order_seq_cst);
  if (worker.parked.load(std::memory_order_seq_cst))
    unparkAll(worker.ticket);
}

void ThreadPool::work(Worker &worker) {
  const FloatEnvironment environment;
  uint32_t seen = 0;
  for (;;) {
    uint32_t ticket = worker.ticket.load(std::memory_order_acquire);
    for (uint32_t spins = spinLimit.load(std::memory_order_relaxed); ticket == seen && spins;
         --spins) {
      spinPause();
      ticket = worker.ticket.load(std::memory_order_acquire);
    }
    if (ticket == seen) {
      worker.parked.store(1, std::memory_order_seq_cst);
      while ((ticket = worker.ticket.load(std::memory_order_seq_cst)) == seen)
        park(worker.ticket, seen);
      worker.parked.store(0, std::memory_order_relaxed);
    }
    seen = ticket;
    if (!worker.body)
      return;
    worker.body(worker.args, worker.part.begin, worker.part.end);
    if (pending.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
        callerParked.load(std::memory_order_seq_cst))
      unparkAll(pending);
  }
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
  pending.store(uint32_t(parts - 1), std::memory_order_relaxed);
  for (int64_t i = 1; i < parts; ++i) {
    Worker &worker = workers[size_t(i - 1)];
    worker.body = body;
    worker.args = args;
    worker.part = staticPart(units, parts, i);
    post(worker);
  }
  const Range own = staticPart(units, parts, 0);
  body(args, own.begin, own.end);
  waitForWorkers();
}

} // namespace writ
