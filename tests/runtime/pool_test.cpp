//===- pool_test.cpp - the chunks of a run and their barrier ---------------===//

#include "pool/thread_pool.h"
#include "support/cpu.h"
#include "support/float_environment.h"
#include "writ/writ.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <numeric>
#include <set>
#include <vector>

using namespace writ;

namespace {

constexpr int kManyProcessors = 1024; ///< makes every pool spin

/// Counts how often each unit was run, without atomics: two writers of a unit are a race that TSan
/// sees.
struct Counts {
  std::vector<int> units;
  std::vector<std::thread::id> threads;
  explicit Counts(int64_t count) : units(size_t(count)), threads(size_t(count)) {}
  static void body(const void *args, int64_t begin, int64_t end) {
    auto &counts = *static_cast<Counts *>(const_cast<void *>(args));
    for (int64_t i = begin; i < end; ++i) {
      ++counts.units[size_t(i)];
      counts.threads[size_t(i)] = std::this_thread::get_id();
    }
  }
};

TEST(StaticPart, F2_PartsAreDisjointInOrderAndCover) {
  for (int64_t parts = 1; parts <= 9; ++parts)
    for (int64_t units = 0; units <= 40; ++units) {
      int64_t next = 0, shortest = units, longest = 0;
      for (int64_t i = 0; i < parts; ++i) {
        const Range part = staticPart(units, parts, i);
        EXPECT_EQ(part.begin, next);
        next = part.end;
        shortest = std::min(shortest, part.end - part.begin);
        longest = std::max(longest, part.end - part.begin);
      }
      EXPECT_EQ(next, units);
      EXPECT_LE(longest - shortest, 1);
    }
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(staticPart(most, 1024, 1023).end, most);
}

TEST(ThreadPool, S1_EveryUnitOnceForEveryThreadCount) {
  for (const int processors : {1, kManyProcessors})
    for (const int threads : {1, 2, 3, 7, 16, 3 * processorCount() + 1}) {
      ThreadPool pool(threads, processors);
      for (const int64_t units : {0, 1, 2, 3, 5, 7, 8, 64, 1000}) {
        Counts counts(units);
        pool.run(Counts::body, &counts, units);
        EXPECT_EQ(counts.units, std::vector<int>(size_t(units), 1)) << threads << " " << units;
        const std::set<std::thread::id> ids(counts.threads.begin(), counts.threads.end());
        EXPECT_LE(int64_t(ids.size()), std::min<int64_t>(threads, units));
        if (units > 0) {
          EXPECT_EQ(counts.threads[0], std::this_thread::get_id())
              << "the caller has the first part";
        }
      }
    }
}

/// A unit that ends when every one of them has been begun: each needs a thread of its own.
struct Meeting {
  int64_t units;
  std::atomic<int64_t> begun{0};
  std::vector<uint64_t> environments;
  explicit Meeting(int64_t units) : units(units), environments(size_t(units)) {}
  static void body(const void *args, int64_t begin, int64_t end) {
    auto &meeting = *static_cast<Meeting *>(const_cast<void *>(args));
    EXPECT_EQ(end, begin + 1);
    meeting.environments[size_t(begin)] = FloatEnvironment::read();
    ++meeting.begun;
    while (meeting.begun < meeting.units)
      std::this_thread::yield();
  }
};

TEST(ThreadPool, S1_EveryThreadTakesPart) {
  for (const int processors : {1, kManyProcessors})
    for (const int threads : {1, 2, 3, 7, 3 * processorCount() + 1}) {
      ThreadPool pool(threads, processors);
      for (int run = 0; run < 50; ++run) {
        Meeting meeting(threads);
        pool.run(Meeting::body, &meeting, threads);
      }
    }
}

TEST(ThreadPool, S1_AThreadThatIsHeldUpHoldsBackOneChunk) {
  constexpr int64_t kUnits = 80;
  struct HeldUp {
    int threads;
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<int64_t> done{0};
    std::atomic<bool> held{false};
    static void body(const void *args, int64_t begin, int64_t end) {
      auto &self = *static_cast<HeldUp *>(const_cast<void *>(args));
      EXPECT_LT(2 * (end - begin), kUnits / self.threads);
      if (std::this_thread::get_id() != self.caller && !self.held.exchange(true))
        while (self.done < kUnits - (end - begin)) // until the others have done all the rest
          std::this_thread::yield();
      else if (std::this_thread::get_id() == self.caller)
        while (!self.held) // it has something to be held up in
          std::this_thread::yield();
      self.done += end - begin;
    }
  };
  for (const int threads : {2, 3, 7}) {
    ThreadPool pool(threads, kManyProcessors);
    for (int run = 0; run < 20; ++run) {
      HeldUp job{threads};
      pool.run(HeldUp::body, &job, kUnits);
      EXPECT_EQ(job.done, kUnits);
    }
  }
}

TEST(ThreadPool, S1_WhoHelpsTakesTheLastChunksFirst) {
  // Units 4 .. 7 are the worker's, a chunk each; it is held up in unit 4 until the others are done.
  struct Order {
    std::atomic<int> next{0}, helped{0};
    std::array<int, 8> begun{};
    static void body(const void *args, int64_t begin, int64_t) {
      auto &order = *static_cast<Order *>(const_cast<void *>(args));
      order.begun[size_t(begin)] = order.next.fetch_add(1);
      if (begin > 4)
        order.helped.fetch_add(1);
      while (begin == 4 && order.helped.load() != 3)
        std::this_thread::yield();
    }
  } order;
  ThreadPool pool(2, kManyProcessors);
  pool.run(Order::body, &order, 8);
  EXPECT_EQ(order.next, 8);
  for (const size_t unit : {1, 2, 3}) // its own ascend
    EXPECT_LT(order.begun[unit - 1], order.begun[unit]);
  EXPECT_LT(order.begun[7], order.begun[6]);
  EXPECT_LT(order.begun[6], order.begun[5]);
}

TEST(ThreadPool, S1_OneUnitOrOneThreadRunsOnTheCaller) {
  ThreadPool pool(4, kManyProcessors);
  Counts one(1);
  pool.run(Counts::body, &one, 1);
  EXPECT_EQ(one.threads[0], std::this_thread::get_id());
  pool.setActive(1);
  Counts many(100);
  pool.run(Counts::body, &many, 100);
  EXPECT_EQ(std::set(many.threads.begin(), many.threads.end()),
            std::set{std::this_thread::get_id()});
}

/// CASES 16. A million in the long run (WRIT_LONG_TESTS=1).
int64_t barriers() {
  return std::getenv("WRIT_LONG_TESTS") ? 1'000'000 : 60'000;
}

void alternate(int processors, int64_t rounds) {
  ThreadPool pool(6, processors);
  int64_t expected = 0;
  Counts counts(12);
  for (int64_t i = 0; i < rounds; ++i) {
    pool.setActive(i % 2 ? 6 : 1 + int(i / 2 % 6));
    pool.run(Counts::body, &counts, 12);
    ++expected;
  }
  EXPECT_EQ(counts.units, std::vector<int>(12, int(expected)));
}

TEST(ThreadPool, S1_AlternatingThreadCountsNeverHang) {
  alternate(processorCount(), barriers());
}
TEST(ThreadPool, S1_AlternatingThreadCountsNeverHangWhileSpinning) {
  alternate(kManyProcessors, barriers() / 200);
}

/// In the tests above a quick thread does most of it all; here a run ends when all have begun.
TEST(ThreadPool, S1_AlternatingThreadCountsNeverHangWhereAllTakePart) {
  for (const int processors : {processorCount(), kManyProcessors}) {
    ThreadPool pool(6, processors);
    for (int64_t i = 0; i < barriers() / (processors == kManyProcessors ? 600 : 60); ++i) {
      const int count = i % 2 ? 6 : 1 + int(i / 2 % 6);
      pool.setActive(count);
      Meeting meeting(count);
      pool.run(Meeting::body, &meeting, count);
      ASSERT_EQ(meeting.begun, count);
    }
  }
}

TEST(ThreadPool, S1_SleepersWakeAfterAPause) {
  ThreadPool pool(3, kManyProcessors);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3)); // longer than anyone spins
    Counts counts(3);
    pool.run(Counts::body, &counts, 3);
    EXPECT_EQ(counts.units, std::vector<int>(3, 1));
  }
}

TEST(ThreadPool, S1_CreatingAndDestroyingNeverHangs) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool(1 + i % 5, i % 2 ? 1 : kManyProcessors);
    if (i % 3 == 0) {
      Counts counts(5);
      pool.run(Counts::body, &counts, 5);
    }
  }
}

TEST(ThreadPool, S1_WorkersHaveThePortableEnvironment) {
  const uint64_t found = FloatEnvironment::read();
#if defined(__x86_64__)
  FloatEnvironment::write(found | 0x8040); // a caller that flushes; threads inherit it
#endif
  ThreadPool pool(4, 4);
  Meeting meeting(4);
  pool.run(Meeting::body, &meeting, 4);
  FloatEnvironment::write(found);
  for (size_t i = 1; i < 4; ++i) // the caller has the first unit
    EXPECT_EQ(meeting.environments[i] & ~uint64_t(0x3f), FloatEnvironment::kPortable) << i;
}

//===-- writ_launch ---------------------------------------------------------===//

int bodyRun = -1;
int64_t unitsRun = 0;
template <int Isa> void noteBody(const void *, int64_t begin, int64_t end) {
  bodyRun = Isa;
  unitsRun += end - begin;
}

writ_step stepOf(writ_isa isa) {
  writ_step step{};
  step.isa = isa;
  return step;
}

TEST(Launch, S4_TheBestBodyUpToTheIsaRuns) {
  const writ_provider all{"all", "", {noteBody<0>, noteBody<1>, noteBody<2>}};
  const writ_provider gap{"gap", "", {noteBody<0>, nullptr, noteBody<2>}};
  const writ_provider scalar{"scalar", "", {noteBody<0>, nullptr, nullptr}};
  const auto launched = [](const writ_provider &provider, writ_isa isa) {
    const writ_step step = stepOf(isa);
    bodyRun = -1;
    writ_launch(&step, 0, &provider, nullptr, 1, 1);
    return bodyRun;
  };
  EXPECT_EQ(launched(all, WRIT_ISA_SCALAR), 0);
  EXPECT_EQ(launched(all, WRIT_ISA_AVX2), 1);
  EXPECT_EQ(launched(all, WRIT_ISA_AVX512), 2);
  EXPECT_EQ(launched(gap, WRIT_ISA_AVX2), 0);
  EXPECT_EQ(launched(gap, WRIT_ISA_AVX512), 2);
  EXPECT_EQ(launched(scalar, WRIT_ISA_AVX512), 0);
}

/// As noteBody, for several threads.
std::atomic<int> sharedBodyRun{-1};
template <int Isa> void sharedBody(const void *, int64_t, int64_t) {
  sharedBodyRun = Isa;
}

TEST(Launch, S4_TheTraceLearnsWhichBodyRan) {
  const writ_provider all{"all", "", {sharedBody<0>, sharedBody<1>, sharedBody<2>}};
  const writ_provider gap{"gap", "", {sharedBody<0>, nullptr, sharedBody<2>}};
  writ_pool pool(2, 2);
  std::vector<int32_t> ran;
  const auto launched = [&](const writ_provider &provider, writ_isa isa, int64_t extent) {
    writ_step step = stepOf(isa);
    step.pool = &pool;
    step.trace_user = &ran;
    step.trace = [](void *user, const writ_step *step, uint32_t, const writ_provider *provider,
                    const void *) {
      static_cast<std::vector<int32_t> *>(user)->push_back(writ_traced_isa(step, provider));
    };
    writ_launch(&step, 0, &provider, nullptr, extent, 1);
    return ran.back();
  };
  EXPECT_EQ(launched(gap, WRIT_ISA_AVX512, 0), -1) << "nothing has run yet";
  for (const int64_t extent : {1, 9}) { // on the caller alone, and on both threads
    EXPECT_EQ(launched(all, WRIT_ISA_SCALAR, extent), WRIT_ISA_SCALAR);
    EXPECT_EQ(launched(all, WRIT_ISA_AVX2, extent), WRIT_ISA_AVX2);
    EXPECT_EQ(launched(gap, WRIT_ISA_AVX2, extent), WRIT_ISA_SCALAR);
    EXPECT_EQ(launched(gap, WRIT_ISA_AVX512, extent), WRIT_ISA_AVX512);
  }
  const writ_step step = stepOf(WRIT_ISA_AVX2);
  EXPECT_EQ(writ_traced_isa(&step, &all), -1) << "a step without a pool remembers nothing";
  EXPECT_EQ(writ_traced_isa(nullptr, &all), -1);
  EXPECT_EQ(writ_traced_isa(&step, nullptr), -1);
}

TEST(Launch, F1_UnitsAreTheExtentOverTheGrainRoundedUp) {
  const writ_provider provider{"p", "", {noteBody<0>, nullptr, nullptr}};
  const writ_step step = stepOf(WRIT_ISA_SCALAR);
  for (const auto &[extent, grain, units] :
       {std::array<int64_t, 3>{0, 16, 0},
        {1, 16, 1},
        {16, 16, 1},
        {17, 16, 2},
        {5, 1, 5},
        {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max(), 1}}) {
    unitsRun = 0;
    writ_launch(&step, 0, &provider, nullptr, extent, grain);
    EXPECT_EQ(unitsRun, units) << extent << "/" << grain;
  }
}

TEST(Launch, C8_TheTraceSeesEachKernelAfterIt) {
  struct Seen {
    uint32_t call = 0;
    const writ_provider *provider = nullptr;
    const void *args = nullptr;
    int64_t unitsBefore = -1;
  } seen;
  writ_step step = stepOf(WRIT_ISA_SCALAR);
  step.trace_user = &seen;
  step.trace = [](void *user, const writ_step *, uint32_t call, const writ_provider *provider,
                  const void *args) {
    *static_cast<Seen *>(user) = {call, provider, args, unitsRun};
  };
  const writ_provider provider{"p", "", {noteBody<0>, nullptr, nullptr}};
  unitsRun = 0;
  writ_launch(&step, 42, &provider, &seen, 3, 1);
  EXPECT_EQ(seen.call, 42u);
  EXPECT_EQ(seen.provider, &provider);
  EXPECT_EQ(seen.args, &seen);
  EXPECT_EQ(seen.unitsBefore, 3);
}

/// What a kernel of parts and its merge leave behind.
struct Merging {
  std::atomic<int64_t> units{0}, unitsSeenByMerge{-1}, merged{0};
};

void countPart(const void *args, int64_t begin, int64_t end) {
  static_cast<Merging *>(const_cast<void *>(args))->units += end - begin;
}

void countMerge(const void *args, int64_t begin, int64_t end) {
  auto &merging = *static_cast<Merging *>(const_cast<void *>(args));
  merging.unitsSeenByMerge = merging.units.load();
  merging.merged += end - begin;
}

TEST(Launch, S1_AMergeRunsAfterAllPartsAndIsTracedAsOneKernel) {
  const writ_provider provider{"p", "", {countPart, nullptr, nullptr}};
  const writ_body merges[WRIT_ISA_COUNT] = {countMerge};
  writ_pool pool(3, 3);
  writ_step step = stepOf(WRIT_ISA_AVX2);
  step.pool = &pool;
  std::vector<int32_t> traced;
  step.trace_user = &traced;
  step.trace = [](void *user, const writ_step *step, uint32_t, const writ_provider *provider,
                  const void *) {
    static_cast<std::vector<int32_t> *>(user)->push_back(writ_traced_isa(step, provider));
  };
  Merging divided;
  writ_launch_merged(&step, 0, &provider, &divided, 7, 2, 5, merges, 6);
  EXPECT_EQ(divided.units, 20) << "4 units of 5 parts";
  EXPECT_EQ(divided.unitsSeenByMerge, 20);
  EXPECT_EQ(divided.merged, 6);
  EXPECT_EQ(traced, std::vector<int32_t>{WRIT_ISA_SCALAR});
  Merging whole;
  writ_launch_merged(&step, 0, &provider, &whole, 7, 2, 1, merges, 6);
  EXPECT_EQ(whole.units, 4);
  EXPECT_EQ(whole.merged, 0);
  EXPECT_EQ(traced.size(), 2u);
}

} // namespace
