//===- lanes_neon.h - 16 lanes as four 128-bit vectors --------------------===//
//
// See lanes.h for what each operation means. NEON's own maximum and minimum give a NaN where either
// operand is one; these are comparisons and selections, so that b is given.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <hwy/highway.h>

static_assert(HWY_STATIC_TARGET == HWY_NEON, "Highway must see this body's instruction set");

namespace {

namespace hn = hwy::HWY_NAMESPACE;
using QuarterTag = hn::FixedTag<float, 4>;
using QuarterLanes = hn::Vec<QuarterTag>;
constexpr QuarterTag kTag;
constexpr hn::RebindToSigned<QuarterTag> kIntTag;

struct Lanes {
  QuarterLanes q[4];
};

/// The operation in each of the four vectors, whose index is i.
#define WRIT_EACH_QUARTER(expression)                                                              \
  const auto quarter = [&](int i) { return expression; };                                          \
  return {                                                                                         \
    { quarter(0), quarter(1), quarter(2), quarter(3) }                                             \
  }

inline Lanes load(const float *from) {
  WRIT_EACH_QUARTER(hn::LoadU(kTag, from + 4 * i));
}
inline void store(Lanes value, float *to) {
  for (int i = 0; i < 4; ++i)
    hn::StoreU(value.q[i], kTag, to + 4 * i);
}
inline Lanes broadcast(float value) {
  const QuarterLanes all = hn::Set(kTag, value);
  return {{all, all, all, all}};
}
inline Lanes zero() {
  return broadcast(0.0f);
}
inline Lanes loadHalf(const uint16_t *from) {
  const hn::Rebind<hwy::float16_t, QuarterTag> half;
  const auto *halves = reinterpret_cast<const hwy::float16_t *>(from);
  WRIT_EACH_QUARTER(hn::PromoteTo(kTag, hn::LoadU(half, halves + 4 * i)));
}
inline Lanes loadField(const uint8_t *from, int shift, uint32_t mask) {
  const hn::Repartition<uint8_t, QuarterTag> bytes;
  const hn::RebindToUnsigned<QuarterTag> words;
  const auto field = [&](int i) {
    const auto word = hn::BitCast(words, hn::LoadU(bytes, from + 16 * i));
    return hn::And(hn::ShiftRightSame(word, shift), hn::Set(words, mask));
  };
  WRIT_EACH_QUARTER(hn::ConvertTo(kTag, hn::BitCast(kIntTag, field(i))));
}
inline Lanes loadBfloat(const uint16_t *from) {
  const hn::Rebind<uint16_t, QuarterTag> half;
  const hn::RebindToUnsigned<QuarterTag> wide;
  WRIT_EACH_QUARTER(
      hn::BitCast(kTag, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(half, from + 4 * i)))));
}
inline void storeHalf(Lanes value, uint16_t *to) {
  const hn::Rebind<hwy::float16_t, QuarterTag> half;
  auto *halves = reinterpret_cast<hwy::float16_t *>(to);
  for (int i = 0; i < 4; ++i)
    hn::StoreU(hn::DemoteTo(half, value.q[i]), half, halves + 4 * i);
}
inline Lanes add(Lanes a, Lanes b) {
  WRIT_EACH_QUARTER(hn::Add(a.q[i], b.q[i]));
}
inline Lanes sub(Lanes a, Lanes b) {
  WRIT_EACH_QUARTER(hn::Sub(a.q[i], b.q[i]));
}
inline Lanes mul(Lanes a, Lanes b) {
  WRIT_EACH_QUARTER(hn::Mul(a.q[i], b.q[i]));
}
inline Lanes div(Lanes a, Lanes b) {
  WRIT_EACH_QUARTER(hn::Div(a.q[i], b.q[i]));
}
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  WRIT_EACH_QUARTER(hn::MulAdd(a.q[i], b.q[i], c.q[i]));
}
inline Lanes selectGreater(Lanes a, Lanes b, Lanes x, Lanes y) {
  WRIT_EACH_QUARTER(hn::IfThenElse(hn::Gt(a.q[i], b.q[i]), x.q[i], y.q[i]));
}
inline Lanes selectNaN(Lanes a, Lanes x, Lanes y) {
  WRIT_EACH_QUARTER(hn::IfThenElse(hn::IsNaN(a.q[i]), x.q[i], y.q[i]));
}
inline Lanes maximum(Lanes a, Lanes b) {
  return selectGreater(a, b, a, b);
}
inline Lanes minimum(Lanes a, Lanes b) {
  return selectGreater(b, a, a, b);
}
inline Lanes absolute(Lanes a) {
  WRIT_EACH_QUARTER(hn::Abs(a.q[i]));
}
inline Lanes roundEven(Lanes a) {
  WRIT_EACH_QUARTER(hn::Round(a.q[i]));
}
inline QuarterLanes scaleTwice(QuarterLanes p, QuarterLanes n) {
  const auto exponent = hn::ConvertTo(kIntTag, n);
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(kIntTag, 127);
  const auto first = hn::BitCast(kTag, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const auto second = hn::BitCast(kTag, hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias)));
  return hn::Mul(hn::Mul(p, first), second);
}
inline Lanes scaleTwice(Lanes p, Lanes n) {
  WRIT_EACH_QUARTER(scaleTwice(p.q[i], n.q[i]));
}
inline void storeCodes(Lanes value, int8_t *to) {
  const hn::Rebind<int8_t, QuarterTag> codes;
  for (int i = 0; i < 4; ++i)
    hn::StoreU(hn::DemoteTo(codes, hn::ConvertTo(kIntTag, value.q[i])), codes, to + 4 * i);
}
inline Lanes loadCodes(const int8_t *from) {
  const hn::Rebind<int8_t, QuarterTag> codes;
  WRIT_EACH_QUARTER(hn::ConvertTo(kTag, hn::PromoteTo(kIntTag, hn::LoadU(codes, from + 4 * i))));
}
inline float treeSum(Lanes value) {
  const auto a = hn::Add(hn::Add(value.q[0], value.q[2]), hn::Add(value.q[1], value.q[3]));
  const auto b = hn::Add(a, hn::Shuffle1032(a));
  return hn::GetLane(hn::Add(b, hn::Shuffle2301(b)));
}
inline Lanes treeSums(const Lanes *vectors) {
  alignas(16) float sums[16];
  for (int i = 0; i < 16; ++i)
    sums[i] = treeSum(vectors[i]);
  return load(sums);
}
inline float greatest(Lanes value) {
  const Lanes &v = value;
  const auto larger = [](QuarterLanes a, QuarterLanes b) {
    return hn::IfThenElse(hn::Gt(a, b), a, b);
  };
  const auto a = larger(larger(v.q[0], v.q[1]), larger(v.q[2], v.q[3]));
  const auto b = larger(a, hn::Shuffle1032(a));
  return hn::GetLane(larger(b, hn::Shuffle2301(b)));
}
inline Lanes greatests(const Lanes *vectors) {
  alignas(16) float all[16];
  for (int i = 0; i < 16; ++i)
    all[i] = greatest(vectors[i]);
  return load(all);
}

#undef WRIT_EACH_QUARTER

} // namespace
