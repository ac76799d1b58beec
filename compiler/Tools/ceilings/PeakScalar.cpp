// What the baseline instruction set gives: plain loops, which the compiler may vectorize within it.
#include "compiler/Tools/ceilings/Ceilings.h"
#include "compiler/Tools/ceilings/PeakSums.h"

#include <cstring>

namespace writ::tool {
namespace {

constexpr int kLanes = 64;

int64_t int8(int64_t rounds) {
  int8_t a[kLanes], b[kLanes];
  int32_t sums[kLanes] = {};
  for (int i = 0; i < kLanes; ++i) {
    a[i] = int8_t(i);
    b[i] = int8_t(3 - i);
  }
  for (int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kLanes; ++i)
      sums[i] += int32_t(a[i]) * b[i];
    asm volatile("" : : "r"(a), "r"(b) : "memory"); // or the product is computed once
  }
  int64_t total = 0;
  for (int32_t sum : sums)
    total += sum;
  return total;
}

float floats(int64_t rounds) {
  float x[kLanes], sums[kLanes] = {};
  for (int i = 0; i < kLanes; ++i)
    x[i] = 1.0f / float(i + 1);
  for (int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < kLanes; ++i)
      sums[i] = sums[i] * 0.5f + x[i];
  float total = 0;
  for (float sum : sums)
    total += sum;
  return total;
}

/// A word of each line: memory gives whole lines.
int64_t read(const std::byte *data, int64_t bytes) {
  return int64_t(readSums<64>(
      data, bytes, uint64_t(0),
      [](const std::byte *from) {
        uint64_t word;
        std::memcpy(&word, from, sizeof word);
        return word;
      },
      [](uint64_t x, uint64_t y) { return x + y; }));
}

} // namespace

constinit const PeakLoops kPeakScalar{{2 * kLanes, int8}, {2 * kLanes, floats}, read};

} // namespace writ::tool
