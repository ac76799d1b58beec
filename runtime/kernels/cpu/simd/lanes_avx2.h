//===- lanes_avx2.h - 16 lanes as two 256-bit vectors ---------------------===//
//
// See lanes.h for what each operation means.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <hwy/highway.h>

static_assert(HWY_STATIC_TARGET == HWY_AVX2, "Highway must see this body's instruction set");

namespace {

namespace hn = hwy::HWY_NAMESPACE;
using HalfTag = hn::FixedTag<float, 8>;
using HalfLanes = hn::Vec<HalfTag>;
constexpr HalfTag kTag;
constexpr hn::RebindToSigned<HalfTag> kIntTag;

struct Lanes {
  HalfLanes lo, hi;
};

inline Lanes load(const float *from) {
  return {hn::LoadU(kTag, from), hn::LoadU(kTag, from + 8)};
}
inline void store(Lanes value, float *to) {
  hn::StoreU(value.lo, kTag, to);
  hn::StoreU(value.hi, kTag, to + 8);
}
inline Lanes broadcast(float value) {
  return {hn::Set(kTag, value), hn::Set(kTag, value)};
}
inline Lanes zero() {
  return {hn::Zero(kTag), hn::Zero(kTag)};
}
inline Lanes loadHalf(const uint16_t *from) {
  const hn::Rebind<hwy::float16_t, HalfTag> half;
  const auto *halves = reinterpret_cast<const hwy::float16_t *>(from);
  return {hn::PromoteTo(kTag, hn::LoadU(half, halves)),
          hn::PromoteTo(kTag, hn::LoadU(half, halves + 8))};
}
inline HalfLanes loadHalfField(const uint8_t *from, int shift, uint32_t mask) {
  const hn::Repartition<uint8_t, HalfTag> bytes;
  const hn::RebindToUnsigned<HalfTag> words;
  const auto word = hn::BitCast(words, hn::LoadU(bytes, from));
  const auto field = hn::And(hn::ShiftRightSame(word, shift), hn::Set(words, mask));
  return hn::ConvertTo(kTag, hn::BitCast(kIntTag, field));
}
inline Lanes loadField(const uint8_t *from, int shift, uint32_t mask) {
  return {loadHalfField(from, shift, mask), loadHalfField(from + 32, shift, mask)};
}
inline Lanes loadBfloat(const uint16_t *from) {
  const hn::Rebind<uint16_t, HalfTag> half;
  const hn::RebindToUnsigned<HalfTag> wide;
  return {hn::BitCast(kTag, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(half, from)))),
          hn::BitCast(kTag, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(half, from + 8))))};
}
inline void storeHalf(Lanes value, uint16_t *to) {
  const hn::Rebind<hwy::float16_t, HalfTag> half;
  auto *halves = reinterpret_cast<hwy::float16_t *>(to);
  hn::StoreU(hn::DemoteTo(half, value.lo), half, halves);
  hn::StoreU(hn::DemoteTo(half, value.hi), half, halves + 8);
}
inline Lanes add(Lanes a, Lanes b) {
  return {hn::Add(a.lo, b.lo), hn::Add(a.hi, b.hi)};
}
inline Lanes sub(Lanes a, Lanes b) {
  return {hn::Sub(a.lo, b.lo), hn::Sub(a.hi, b.hi)};
}
inline Lanes mul(Lanes a, Lanes b) {
  return {hn::Mul(a.lo, b.lo), hn::Mul(a.hi, b.hi)};
}
inline Lanes div(Lanes a, Lanes b) {
  return {hn::Div(a.lo, b.lo), hn::Div(a.hi, b.hi)};
}
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return {hn::MulAdd(a.lo, b.lo, c.lo), hn::MulAdd(a.hi, b.hi, c.hi)};
}
inline Lanes maximum(Lanes a, Lanes b) {
  return {hn::Max(a.lo, b.lo), hn::Max(a.hi, b.hi)};
}
inline Lanes minimum(Lanes a, Lanes b) {
  return {hn::Min(a.lo, b.lo), hn::Min(a.hi, b.hi)};
}
inline Lanes absolute(Lanes a) {
  return {hn::Abs(a.lo), hn::Abs(a.hi)};
}
inline Lanes roundEven(Lanes a) {
  return {hn::Round(a.lo), hn::Round(a.hi)};
}
inline Lanes selectGreater(Lanes a, Lanes b, Lanes x, Lanes y) {
  return {hn::IfThenElse(hn::Gt(a.lo, b.lo), x.lo, y.lo),
          hn::IfThenElse(hn::Gt(a.hi, b.hi), x.hi, y.hi)};
}
inline Lanes selectNaN(Lanes a, Lanes x, Lanes y) {
  return {hn::IfThenElse(hn::IsNaN(a.lo), x.lo, y.lo), hn::IfThenElse(hn::IsNaN(a.hi), x.hi, y.hi)};
}
inline HalfLanes scaleTwice(HalfLanes p, HalfLanes n) {
  const auto exponent = hn::ConvertTo(kIntTag, n);
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(kIntTag, 127);
  const auto first = hn::BitCast(kTag, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const auto second = hn::BitCast(kTag, hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias)));
  return hn::Mul(hn::Mul(p, first), second);
}
inline Lanes scaleTwice(Lanes p, Lanes n) {
  return {scaleTwice(p.lo, n.lo), scaleTwice(p.hi, n.hi)};
}
inline void storeCodes(Lanes value, int8_t *to) {
  const hn::Rebind<int8_t, HalfTag> codes;
  hn::StoreU(hn::DemoteTo(codes, hn::ConvertTo(kIntTag, value.lo)), codes, to);
  hn::StoreU(hn::DemoteTo(codes, hn::ConvertTo(kIntTag, value.hi)), codes, to + 8);
}
inline Lanes loadCodes(const int8_t *from) {
  const hn::Rebind<int8_t, HalfTag> codes;
  const auto half = [&](const int8_t *eight) {
    return hn::ConvertTo(kTag, hn::PromoteTo(kIntTag, hn::LoadU(codes, eight)));
  };
  return {half(from), half(from + 8)};
}
inline float treeSum(Lanes value) {
  const hn::FixedTag<float, 4> four;
  const auto a = hn::Add(value.lo, value.hi);
  const auto b = hn::Add(hn::LowerHalf(four, a), hn::UpperHalf(four, a));
  const auto c = hn::Add(b, hn::Shuffle1032(b));
  return hn::GetLane(hn::Add(c, hn::Shuffle2301(c)));
}
/// Lane i of the result is the lanes of vector i under `op`, by halves. Pairs of vectors are halved
/// together, so that no lane is ever wasted.
template <typename Op> inline HalfLanes reduceEight(const Lanes *vectors, Op op) {
  const hn::Repartition<double, HalfTag> pairs;
  HalfLanes a[8], b[4], c[2];
  for (int i = 0; i < 8; ++i)
    a[i] = op(vectors[i].lo, vectors[i].hi);
  for (int i = 0; i < 4; ++i)
    b[i] =
        op(hn::ConcatLowerLower(kTag, a[i + 4], a[i]), hn::ConcatUpperUpper(kTag, a[i + 4], a[i]));
  for (int i = 0; i < 2; ++i) {
    const auto x = hn::BitCast(pairs, b[i]), y = hn::BitCast(pairs, b[i + 2]);
    c[i] = op(hn::BitCast(kTag, hn::InterleaveLower(pairs, x, y)),
              hn::BitCast(kTag, hn::InterleaveUpper(pairs, x, y)));
  }
  return op(hn::OddEven(hn::DupEven(c[1]), c[0]), hn::OddEven(c[1], hn::DupOdd(c[0])));
}
inline Lanes treeSums(const Lanes *vectors) {
  const auto op = [](HalfLanes a, HalfLanes b) { return hn::Add(a, b); };
  return {reduceEight(vectors, op), reduceEight(vectors + 8, op)};
}
inline Lanes greatests(const Lanes *vectors) {
  const auto op = [](HalfLanes a, HalfLanes b) { return hn::Max(a, b); };
  return {reduceEight(vectors, op), reduceEight(vectors + 8, op)};
}
inline float greatest(Lanes value) {
  return hn::GetLane(hn::MaxOfLanes(kTag, hn::Max(value.lo, value.hi)));
}

} // namespace
