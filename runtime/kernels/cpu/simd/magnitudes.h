//===- magnitudes.h - the largest magnitude of blocks ----------------------===//
//
// Magnitudes are compared by their bits, which order them as the values do, infinity above every
// number and a NaN above infinity: one integer maximum, and none is forgotten.
//
//   larger(a, b)                        the greater of two magnitudes, a lane at a time
//   largest                             the greatest of the lanes of magnitudes
//   largests                            lane i of the result is largest of vector i
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

#if WRIT_ISA_LEVEL == 2 || WRIT_ISA_LEVEL == 5

inline Lanes larger(Lanes a, Lanes b) {
  return hn::BitCast(kTag, hn::Max(hn::BitCast(kIntTag, a), hn::BitCast(kIntTag, b)));
}
inline float largest(Lanes magnitudes) {
  return hn::GetLane(hn::BitCast(kTag, hn::MaxOfLanes(kIntTag, hn::BitCast(kIntTag, magnitudes))));
}
/// Pairs of vectors are halved together, as in treeSums.
inline Lanes largests(const Lanes *vectors) {
  const hn::Repartition<double, LanesTag> pairs;
  Lanes a[8], b[4], c[2];
  for (int i = 0; i < 8; ++i)
    a[i] = larger(hn::ConcatLowerLower(kTag, vectors[i + 8], vectors[i]),
                  hn::ConcatUpperUpper(kTag, vectors[i + 8], vectors[i]));
  for (int i = 0; i < 4; ++i)
    b[i] = larger(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a[i + 4]), a[i]),
                  hn::OddEvenBlocks(a[i + 4], hn::SwapAdjacentBlocks(a[i])));
  for (int i = 0; i < 2; ++i) {
    const auto x = hn::BitCast(pairs, b[i]), y = hn::BitCast(pairs, b[i + 2]);
    c[i] = larger(hn::BitCast(kTag, hn::InterleaveLower(pairs, x, y)),
                  hn::BitCast(kTag, hn::InterleaveUpper(pairs, x, y)));
  }
  return larger(hn::OddEven(hn::DupEven(c[1]), c[0]), hn::OddEven(c[1], hn::DupOdd(c[0])));
}

#elif WRIT_ISA_LEVEL == 1

inline HalfLanes larger(HalfLanes a, HalfLanes b) {
  return hn::BitCast(kTag, hn::Max(hn::BitCast(kIntTag, a), hn::BitCast(kIntTag, b)));
}
inline Lanes larger(Lanes a, Lanes b) {
  return {larger(a.lo, b.lo), larger(a.hi, b.hi)};
}
inline float largest(Lanes magnitudes) {
  const HalfLanes half = larger(magnitudes.lo, magnitudes.hi);
  return hn::GetLane(hn::BitCast(kTag, hn::MaxOfLanes(kIntTag, hn::BitCast(kIntTag, half))));
}
inline HalfLanes largests8(const Lanes *vectors) {
  const hn::Repartition<double, HalfTag> pairs;
  HalfLanes a[8], b[4], c[2];
  for (int i = 0; i < 8; ++i)
    a[i] = larger(vectors[i].lo, vectors[i].hi);
  for (int i = 0; i < 4; ++i)
    b[i] = larger(hn::ConcatLowerLower(kTag, a[i + 4], a[i]),
                  hn::ConcatUpperUpper(kTag, a[i + 4], a[i]));
  for (int i = 0; i < 2; ++i) {
    const auto x = hn::BitCast(pairs, b[i]), y = hn::BitCast(pairs, b[i + 2]);
    c[i] = larger(hn::BitCast(kTag, hn::InterleaveLower(pairs, x, y)),
                  hn::BitCast(kTag, hn::InterleaveUpper(pairs, x, y)));
  }
  return larger(hn::OddEven(hn::DupEven(c[1]), c[0]), hn::OddEven(c[1], hn::DupOdd(c[0])));
}
inline Lanes largests(const Lanes *vectors) {
  return {largests8(vectors), largests8(vectors + 8)};
}

#elif WRIT_ISA_LEVEL == 3 || WRIT_ISA_LEVEL == 4

inline QuarterLanes larger(QuarterLanes a, QuarterLanes b) {
  return hn::BitCast(kTag, hn::Max(hn::BitCast(kIntTag, a), hn::BitCast(kIntTag, b)));
}
inline Lanes larger(Lanes a, Lanes b) {
  Lanes result;
  for (int i = 0; i < 4; ++i)
    result.q[i] = larger(a.q[i], b.q[i]);
  return result;
}
inline float largest(Lanes magnitudes) {
  const QuarterLanes most =
      larger(larger(magnitudes.q[0], magnitudes.q[1]), larger(magnitudes.q[2], magnitudes.q[3]));
  return hn::GetLane(hn::BitCast(kTag, hn::MaxOfLanes(kIntTag, hn::BitCast(kIntTag, most))));
}
inline Lanes largests(const Lanes *vectors) {
  alignas(64) float of[kLanes];
  for (int64_t i = 0; i < kLanes; ++i)
    of[i] = largest(vectors[i]);
  return load(of);
}

#else

inline Lanes larger(const Lanes &a, const Lanes &b) {
  Lanes result;
  for (int i = 0; i < kLanes; ++i)
    result.v[i] = bitsOfFloat(a.v[i]) > bitsOfFloat(b.v[i]) ? a.v[i] : b.v[i];
  return result;
}
inline float largest(const Lanes &magnitudes) {
  float result = magnitudes.v[0];
  for (int i = 1; i < kLanes; ++i)
    result = bitsOfFloat(magnitudes.v[i]) > bitsOfFloat(result) ? magnitudes.v[i] : result;
  return result;
}
inline Lanes largests(const Lanes *vectors) {
  Lanes result;
  for (int i = 0; i < kLanes; ++i)
    result.v[i] = largest(vectors[i]);
  return result;
}

#endif

} // namespace
