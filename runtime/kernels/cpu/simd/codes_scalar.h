//===- codes_scalar.h - panels of codes as rows of 16-bit numbers ---------===//
//
// Taken apart once for a tile's rows. Products of 16-bit numbers summed in 32 bits are what every
// baseline (SSE2, NEON) has an instruction for, so the dots below are plain loops that a compiler
// makes vectors of; they are integers, whose order is free.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace {

/// Elements first .. first + kCount of each of a panel's 16 rows, as they are stored. `place` gives
/// the CodePlace of a group of 4.
template <typename Format, int64_t kCount, typename Place>
inline void widenCodes(const uint8_t *vectors, int64_t first, Place place,
                       int16_t (*rows)[kCount]) {
  for (int64_t group = 0; group < kCount / 4; ++group) {
    const writ::CodePlace where = place(first / 4 + group);
    for (int64_t r = 0; r < kLanes; ++r)
      for (int64_t rank = 0; rank < 4; ++rank)
        rows[r][4 * group + rank] =
            static_cast<int16_t>(storedCode<Format>(vectors, where, rank, r));
  }
}

template <int64_t kCount> inline void widenActivation(const int8_t *from, int16_t *to) {
  for (int64_t i = 0; i < kCount; ++i)
    to[i] = from[i];
}

template <int64_t kCount> inline int32_t dotCodes(const int16_t *a, const int16_t *b) {
  int32_t dot = 0;
  for (int64_t i = 0; i < kCount; ++i)
    dot += a[i] * b[i];
  return dot;
}

/// Ends a segment of a tile: its sums are stored and start anew.
template <int64_t R> inline void closeSegment(float (*acc)[kLanes], int64_t segment, float *sums) {
  for (int64_t row = 0; row < R; ++row)
    for (int64_t r = 0; r < kLanes; ++r) {
      sums[(row * kSegments + segment) * kLanes + r] = acc[row][r];
      acc[row][r] = 0.0f;
    }
}

} // namespace
