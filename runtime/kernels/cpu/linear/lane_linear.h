//===- linear/lane_linear.h - eight dots of each block, in eight lanes ----===//
//
// ggml's order on AVX2, for any machine. t = rn(d_w * d_a) of a block, in each lane
// acc_l = fma(t, I_l, acc_l), blocks ascending, and y = the lanes by tree_halves. Lane l of a run
// of 32 elements has the elements 4l .. 4l + 3. Beside the lanes:
//
//   q4_1, q5_1   s = rn(s + rn(m_w * s_a))
//   q5_k         s = rn(s + rn(-rn(d_a * dmin) * M)),  M = sum of mn * (sum of codes)
//   q4_k         4 lanes s_p = fma(-rn(d_a * dmin), M_p, s_p), M_p of the sub-blocks 2p, 2p + 1
//
// and y = rn(y + s). I_l counts each sub-block by its scale; that of q6_k is the dot of the codes +
// 32 less 32 * (the sum of sc * (sum of codes) over the sub-blocks 2l and 2l + 1).
//
// activation q8_0, q8_1 or q8_k rows, weight in panel16_k4 or panel16_k4_b256 panels, out f32
// [rows][n]. A unit is one panel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/body.h"
#include "runtime/kernels/cpu/linear/decode_super.h"
#include "runtime/kernels/cpu/linear/segments.h"
#include "runtime/kernels/cpu/simd/codes_scalar.h"
#include "writ/packed_layout.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace {

constexpr int64_t kDotLanes = 8; ///< of a block
constexpr int64_t kTileRows = 8; ///< that share one block taken apart

/// The sums of a tile: a lane for each dot, and what is summed beside the lanes.
struct LaneSums {
  float lanes[kTileRows][kPanelRows][kDotLanes];
  float beside[kTileRows][kPanelRows][4];
};

/// v[0] .. v[n - 1] by tree_halves.
template <int64_t n> inline float treeHalves(const float *from) {
  float v[n];
  for (int64_t i = 0; i < n; ++i)
    v[i] = from[i];
  for (int64_t s = n / 2; s >= 1; s /= 2)
    for (int64_t i = 0; i < s; ++i)
      v[i] = v[i] + v[i + s];
  return v[0];
}

inline float halfAt(const char *bytes) {
  uint16_t half;
  __builtin_memcpy(&half, bytes, 2);
  return floatFromHalf(half);
}

/// The eight dots of a run of 32 elements, in integers: lane l of 4l .. 4l + 3.
inline void laneDots(const int16_t *codes, const int16_t *q, int32_t *dots) {
#ifdef __AVX2__
  const auto pairs = [&](int64_t first) {
    const auto load = [&](const int16_t *from) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + first));
    };
    return _mm256_madd_epi16(load(codes), load(q));
  };
  // Four sums of the first half, four of the second, by 64 bits in turns.
  const __m256i sums = _mm256_hadd_epi32(pairs(0), pairs(16));
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(dots),
                      _mm256_permute4x64_epi64(sums, _MM_SHUFFLE(3, 1, 2, 0)));
#else
  for (int64_t lane = 0; lane < kDotLanes; ++lane) {
    dots[lane] = 0;
    for (int64_t i = 4 * lane; i < 4 * lane + 4; ++i)
      dots[lane] += codes[i] * q[i];
  }
#endif
}

template <int64_t n> inline void widen(const int8_t *from, int16_t *to) {
  for (int64_t i = 0; i < n; ++i)
    to[i] = from[i];
}

/// q4_0, q4_1, q5_0, q5_1, q8_0 with the blocks of q8_0 or, where there are minimums, of q8_1.
template <typename Format> struct LaneBlocks {
  using Panels = BlockPanels<Format>;
  static constexpr const writ::ActivationBlocks &kActivation =
      Format::kMinimum ? writ::kActivationQ8_1 : writ::kActivationQ8_0;
  static constexpr int64_t kMinimumLanes = Format::kMinimum ? 1 : 0;
  static int64_t stride(int64_t k) { return Panels::stride(k); }

  static void add(const void *panel, int64_t block, int64_t k, const char *activation,
                  int64_t rowBytes, int64_t rows, LaneSums &sums) {
    int16_t codes[kPanelRows][kBlockElements];
    widenCodes<Format>(
        Panels::codes(panel, block, k), 0,
        [](int64_t group) { return writ::blockPlace(Format::kCodes, group); }, codes);
    float d[kPanelRows], m[kPanelRows];
    for (int64_t r = 0; r < kPanelRows; ++r) {
      for (int64_t i = 0; i < kBlockElements; ++i)
        codes[r][i] = static_cast<int16_t>(codes[r][i] - Format::kBias);
      d[r] = floatFromHalf(Panels::scales(panel, block, k)[r]);
      if constexpr (Format::kMinimum)
        m[r] = floatFromHalf(Panels::minimums(panel, block, k)[r]);
    }
    for (int64_t row = 0; row < rows; ++row) {
      const char *from = activation + row * rowBytes + block * kActivation.bytes;
      int16_t q[kBlockElements];
      widen<kBlockElements>(at<int8_t>(from, kActivation.codes), q);
      const float scale = halfAt(from);
      for (int64_t r = 0; r < kPanelRows; ++r) {
        const float t = d[r] * scale;
        float *lanes = sums.lanes[row][r];
        int32_t dots[kDotLanes];
        laneDots(codes[r], q, dots);
        for (int64_t lane = 0; lane < kDotLanes; ++lane)
          lanes[lane] = __builtin_fmaf(t, static_cast<float>(dots[lane]), lanes[lane]);
        if constexpr (Format::kMinimum)
          sums.beside[row][r][0] += m[r] * halfAt(from + kActivation.valueSum);
      }
    }
  }
};

/// q4_k, q5_k, q6_k with the blocks of q8_k; `minimumLanes` sums of minimums.
template <typename Format, int64_t minimumLanes> struct LaneSuperBlocks {
  using Panels = SuperPanels<Format>;
  using Numbers = SuperNumbers<Format>;
  static constexpr const writ::ActivationBlocks &kActivation = writ::kActivationQ8_K;
  static constexpr int64_t kMinimumLanes = minimumLanes;
  static int64_t stride(int64_t k) { return Panels::stride(k); }

  static void add(const void *panel, int64_t block, int64_t, const char *activation,
                  int64_t rowBytes, int64_t rows, LaneSums &sums) {
    const uint8_t *record = Panels::record(panel, block);
    int16_t codes[kPanelRows][kSuperElements];
    widenCodes<Format>(
        record, 0, [](int64_t group) { return superPlace<Format>(group); }, codes);
    int32_t scales[kPanelRows][Numbers::kSubBlocks];
    for (int64_t r = 0; r < kPanelRows; ++r)
      for (int64_t j = 0; j < Numbers::kSubBlocks; ++j)
        scales[r][j] = Panels::subScale(record, j, r);
    for (int64_t row = 0; row < rows; ++row) {
      const char *from = activation + row * rowBytes + block * kActivation.bytes;
      int16_t q[kSuperElements];
      widen<kSuperElements>(at<int8_t>(from, kActivation.codes), q);
      float scale;
      int16_t sixteens[kSuperElements / 16];
      __builtin_memcpy(&scale, from, 4);
      __builtin_memcpy(sixteens, from + kActivation.codeSums, sizeof(sixteens));
      for (int64_t r = 0; r < kPanelRows; ++r)
        addRow(record, r, codes[r], scales[r], q, scale, sixteens, sums.lanes[row][r],
               sums.beside[row][r]);
    }
  }

  static void addRow(const uint8_t *record, int64_t r, const int16_t *codes, const int32_t *scales,
                     const int16_t *q, float scale, const int16_t *sixteens, float *lanes,
                     float *beside) {
    int32_t dots[kDotLanes] = {};
    for (int64_t run = 0; run < kSuperElements / kBlockElements; ++run) {
      int32_t parts[kDotLanes];
      laneDots(codes + run * kBlockElements, q + run * kBlockElements, parts);
      for (int64_t lane = 0; lane < kDotLanes; ++lane)
        dots[lane] += scales[(run * kDotLanes + lane) / Numbers::kSubGroups] * parts[lane];
    }
    if constexpr (Format::kBias != 0) // the codes are stored with it
      for (int64_t j = 0; j < Numbers::kSubBlocks; ++j)
        dots[j / 2] -= Format::kBias * scales[j] * sixteens[j];
    const float t = floatFromHalf(Panels::scales(record)[r]) * scale;
    for (int64_t lane = 0; lane < kDotLanes; ++lane)
      lanes[lane] = __builtin_fmaf(t, static_cast<float>(dots[lane]), lanes[lane]);
    if constexpr (kMinimumLanes != 0) {
      int32_t minimums[kMinimumLanes] = {};
      for (int64_t j = 0; j < Numbers::kSubBlocks; ++j)
        minimums[j * kMinimumLanes / Numbers::kSubBlocks] +=
            Panels::subMinimum(record, j, r) * (sixteens[2 * j] + sixteens[2 * j + 1]);
      const float factor = -(scale * floatFromHalf(Panels::minimums(record)[r]));
      if constexpr (kMinimumLanes == 1)
        beside[0] += factor * static_cast<float>(minimums[0]);
      else
        for (int64_t p = 0; p < kMinimumLanes; ++p)
          beside[p] = __builtin_fmaf(factor, static_cast<float>(minimums[p]), beside[p]);
    }
  }
};

template <typename Blocks, typename Args>
void laneLinear(const Args &args, int64_t begin, int64_t end) {
  const int64_t k = args.k, n = args.n, rowBytes = Blocks::kActivation.rowBytes(k);
  const auto *bias = static_cast<const float *>(args.bias);
  for (int64_t panel = begin; panel < end; ++panel) {
    const void *weight = at<char>(args.weight, panel * Blocks::stride(k));
    for (int64_t first = 0; first < args.rows; first += kTileRows) {
      const int64_t rows = least(kTileRows, args.rows - first);
      LaneSums sums = {};
      for (int64_t block = 0; block < k / Blocks::kActivation.elements; ++block)
        Blocks::add(weight, block, k, at<char>(args.activation, first * rowBytes), rowBytes, rows,
                    sums);
      for (int64_t row = 0; row < rows; ++row) {
        float *out = static_cast<float *>(args.out) + (first + row) * n;
        for (int64_t r = 0; r < least(kPanelRows, n - panel * kPanelRows); ++r) {
          const int64_t column = panel * kPanelRows + r;
          float y = treeHalves<kDotLanes>(sums.lanes[row][r]);
          if constexpr (Blocks::kMinimumLanes != 0)
            y += treeHalves<Blocks::kMinimumLanes>(sums.beside[row][r]);
          out[column] = bias ? y + bias[column] : y;
        }
      }
    }
  }
}

} // namespace
