//===- linear/lanes32_linear.h - ggml's dots of unquantized rows ----------===//
//
// ggml's order on AVX2, for any machine: 32 lanes over K, as many elements as every lane has alike,
// ascending from +0; the merge; then the elements that are left, ascending.
//
//   f32    activation f32, fma in the lanes, v[i] + v[i + s] for s = 16, 8, 4, then (0 + 1) +
//          (2 + 3); the rest y = rn(y + rn(w * x))
//   f16    activation rounded to binary16, lanes and merge alike; the rest in binary64,
//          rn64(y + rn(w * x)), and y rounded last
//   bf16   activation rounded to bfloat16, rn(lane + rn(w * x)), s = 16, 8, 4, 2, 1; the rest as
//   f16
//
// activation f32 [rows][k], weight in panel16 panels, out f32 [rows][n]. A unit is one panel, whose
// 16 rows stand beside each other in each of the 32 lanes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/linear/decode.h"
#include "runtime/kernels/cpu/linear/segments.h"

namespace {

constexpr int64_t kDotLanes = kBlockElements;
constexpr int64_t kTileRows = 8; ///< that share one block taken apart

struct F32Dots {
  using Panels = ScalarPanels<F32Weights>;
  static constexpr bool kWideRest = false;
  static constexpr int64_t kHalvesTo = 4;
  static float rounded(float x) { return x; }
  static Lanes add(Lanes w, Lanes x, Lanes sum) { return fma(w, x, sum); }
};
struct F16Dots {
  using Panels = ScalarPanels<F16Weights>;
  static constexpr bool kWideRest = true;
  static constexpr int64_t kHalvesTo = 4;
  static float rounded(float x) { return floatFromHalf(halfFromFloat(x)); }
  static Lanes add(Lanes w, Lanes x, Lanes sum) { return fma(w, x, sum); }
};
struct Bf16Dots {
  using Panels = ScalarPanels<Bf16Weights>;
  static constexpr bool kWideRest = true;
  static constexpr int64_t kHalvesTo = 1;
  static float rounded(float x) { return floatFromBfloat(bfloatFromFloat(x)); }
  static Lanes add(Lanes w, Lanes x, Lanes sum) { return ::add(mul(w, x), sum); }
};

/// The lanes of one row of activations, each [16]: by halves down to `to`, then neighbours.
template <int64_t to> Lanes mergeDots(const float (*lanes)[kPanelRows]) {
  Lanes v[kDotLanes];
  for (int64_t i = 0; i < kDotLanes; ++i)
    v[i] = load(lanes[i]);
  for (int64_t s = kDotLanes / 2; s >= to; s /= 2)
    for (int64_t i = 0; i < s; ++i)
      v[i] = add(v[i], v[i + s]);
  for (int64_t s = to / 2; s >= 1; s /= 2)
    for (int64_t i = 0; i < s; ++i)
      v[i] = add(v[2 * i], v[2 * i + 1]);
  return v[0];
}

/// What is left of the merged dots; columns[i] are the weights of element x[i].
template <typename Dots>
Lanes addRest(Lanes y, const float *columns, const float *x, int64_t count) {
  if constexpr (Dots::kWideRest) {
    alignas(64) float out[kPanelRows];
    store(y, out);
    for (int64_t r = 0; r < kPanelRows; ++r) {
      double sum = out[r];
      for (int64_t i = 0; i < count; ++i) {
        const float product = columns[i * kPanelRows + r] * Dots::rounded(x[i]);
        sum += static_cast<double>(product);
      }
      out[r] = static_cast<float>(sum);
    }
    return load(out);
  }
  for (int64_t i = 0; i < count; ++i)
    y = add(y, mul(load(columns + i * kPanelRows), broadcast(Dots::rounded(x[i]))));
  return y;
}

template <typename Dots, typename Args>
void lanes32Linear(const Args &args, int64_t begin, int64_t end) {
  using Panels = typename Dots::Panels;
  const int64_t k = args.k, n = args.n, rounds = k / kDotLanes, left = k % kDotLanes;
  const auto *bias = static_cast<const float *>(args.bias);
  alignas(64) float columns[kDotLanes * kPanelRows];
  alignas(64) float lanes[kTileRows][kDotLanes][kPanelRows];
  for (int64_t panel = begin; panel < end; ++panel) {
    const void *weights = at<char>(args.weight, panel * Panels::stride(k));
    for (int64_t first = 0; first < args.rows; first += kTileRows) {
      const int64_t rows = least(kTileRows, args.rows - first);
      const float *activation = static_cast<const float *>(args.activation) + first * k;
      for (int64_t row = 0; row < rows; ++row)
        for (auto &lane : lanes[row])
          store(zero(), lane);
      for (int64_t round = 0; round < rounds; ++round) {
        Panels::decodeColumns(weights, round, k, columns);
        for (int64_t row = 0; row < rows; ++row) {
          const float *x = activation + row * k + round * kDotLanes;
          for (int64_t i = 0; i < kDotLanes; ++i)
            store(Dots::add(load(columns + i * kPanelRows), broadcast(Dots::rounded(x[i])),
                            load(lanes[row][i])),
                  lanes[row][i]);
        }
      }
      if (left != 0)
        Panels::decodeColumns(weights, rounds, k, columns);
      for (int64_t row = 0; row < rows; ++row) {
        const Lanes y = addRest<Dots>(mergeDots<Dots::kHalvesTo>(lanes[row]), columns,
                                      activation + row * k + rounds * kDotLanes, left);
        storeColumns(y, bias, static_cast<float *>(args.out) + (first + row) * n, panel, n);
      }
    }
  }
}

} // namespace
