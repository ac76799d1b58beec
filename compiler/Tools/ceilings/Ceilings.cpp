#include "compiler/Tools/ceilings/Ceilings.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace writ::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRuns = 5;
constexpr int kReads = 15; // a few ms each: what is read depends on who else reads just then
constexpr int64_t kBufferBytes = int64_t(256) << 20; // beyond any cache of the machines at hand
constexpr int64_t kSmallestFile = int64_t(64) << 20;
constexpr double kSeconds = 0.02; // of one run of a peak loop

std::atomic<int64_t> sink{0}; // what nobody reads, and no compiler may leave out

/// Seconds from when the first of the threads begins until the last one ends. Each looks at the
/// clock itself: one that only waits for them may be woken when they are done.
double timeOf(int threads, const std::function<void(int)> &work) {
  struct Times {
    Clock::time_point begin, end;
  };
  std::vector<Times> times(static_cast<size_t>(threads));
  std::barrier together(threads);
  std::vector<std::thread> started;
  for (int i = 0; i < threads; ++i)
    started.emplace_back([&, i] {
      together.arrive_and_wait();
      times[size_t(i)].begin = Clock::now();
      work(i);
      times[size_t(i)].end = Clock::now();
    });
  for (std::thread &thread : started)
    thread.join();
  Times whole = times.front();
  for (const Times &one : times) {
    whole.begin = std::min(whole.begin, one.begin);
    whole.end = std::max(whole.end, one.end);
  }
  return std::chrono::duration<double>(whole.end - whole.begin).count();
}

double bestTime(int runs, int threads, const std::function<void(int)> &work) {
  double best = timeOf(threads, work); // the first finds cold pages, and is taken for what it is
  for (int run = 1; run < runs; ++run)
    best = std::min(best, timeOf(threads, work));
  return best;
}

double readRate(const PeakLoops &loops, const std::byte *data, int64_t bytes, int threads) {
  const int64_t part = bytes / threads / kReadStep * kReadStep;
  const double seconds =
      bestTime(kReads, threads, [&](int i) { sink += loops.read(data + i * part, part); });
  return double(part) * threads / seconds;
}

double mappedRate(const PeakLoops &loops, const std::string &file, int threads) {
  const int descriptor = file.empty() ? -1 : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  double rate = 0;
  if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size >= kSmallestFile) {
    void *mapped =
        mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (mapped != MAP_FAILED) {
      rate = readRate(loops, static_cast<const std::byte *>(mapped), status.st_size, threads);
      munmap(mapped, size_t(status.st_size));
    }
  }
  if (descriptor >= 0)
    close(descriptor);
  return rate;
}

double largePageRate(const PeakLoops &loops, int threads) {
  constexpr int64_t alignment = int64_t(2) << 20;
  const size_t bytes = size_t(kBufferBytes + alignment);
  void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return 0;
  std::byte *data = static_cast<std::byte *>(mapped) +
                    (alignment - int64_t(reinterpret_cast<uintptr_t>(mapped) % alignment));
  madvise(data, size_t(kBufferBytes), MADV_HUGEPAGE);
  std::memset(data, 1, size_t(kBufferBytes));
  const double rate = readRate(loops, data, kBufferBytes, threads);
  munmap(mapped, bytes);
  return rate;
}

template <typename Result> double peakRate(int threads, const PeakLoop<Result> &loop) {
  const auto run = [&](int64_t rounds) { sink += int64_t(loop.run(rounds)); };
  int64_t rounds = 1024;
  while (timeOf(1, [&](int) { run(rounds); }) < kSeconds)
    rounds *= 2;
  return double(loop.operationsPerRound) * double(rounds) * threads /
         bestTime(kRuns, threads, [&](int) { run(rounds); });
}

const PeakLoops &loopsOf(writ_isa isa) {
#if defined(__x86_64__)
  if (isa >= WRIT_ISA_AVX512)
    return kPeakAvx512;
  if (isa >= WRIT_ISA_AVX2)
    return kPeakAvx2;
#endif
  (void)isa;
  return kPeakScalar;
}

} // namespace

Ceilings measureCeilings(writ_isa isa, int threads, const std::string &file) {
  const PeakLoops &loops = loopsOf(isa);
  Ceilings result{isa, threads};
  result.mappedBytes = mappedRate(loops, file, threads);
  result.largePageBytes = largePageRate(loops, threads);
  result.int8Operations = peakRate(threads, loops.int8);
  result.floatOperations = peakRate(threads, loops.floats);
#if defined(__x86_64__)
  if (isa >= WRIT_ISA_AVX512BF16)
    result.bfloatOperations = peakRate(threads, kPeakAvx512Bf16);
#endif
  return result;
}

} // namespace writ::tool
