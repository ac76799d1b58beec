//===- lanes_avx512.h - 16 lanes as one 512-bit vector --------------------===//
//
// See lanes.h for what each operation means.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <hwy/highway.h>

static_assert(HWY_STATIC_TARGET == HWY_AVX3, "Highway must see this body's instruction set");

namespace {

namespace hn = hwy::HWY_NAMESPACE;
using LanesTag = hn::FixedTag<float, 16>;
using Lanes = hn::Vec<LanesTag>;
constexpr LanesTag kTag;
constexpr hn::RebindToSigned<LanesTag> kIntTag;

inline Lanes load(const float *from) {
  return hn::LoadU(kTag, from);
}
inline void store(Lanes value, float *to) {
  hn::StoreU(value, kTag, to);
}
inline Lanes broadcast(float value) {
  return hn::Set(kTag, value);
}
inline Lanes zero() {
  return hn::Zero(kTag);
}
inline Lanes loadHalf(const uint16_t *from) {
  const hn::Rebind<hwy::float16_t, LanesTag> half;
  return hn::PromoteTo(kTag, hn::LoadU(half, reinterpret_cast<const hwy::float16_t *>(from)));
}
inline Lanes loadField(const uint8_t *from, int shift, uint32_t mask) {
  const hn::Repartition<uint8_t, LanesTag> bytes;
  const hn::RebindToUnsigned<LanesTag> words;
  const auto word = hn::BitCast(words, hn::LoadU(bytes, from));
  const auto field = hn::And(hn::ShiftRightSame(word, shift), hn::Set(words, mask));
  return hn::ConvertTo(kTag, hn::BitCast(kIntTag, field));
}
inline Lanes loadBfloat(const uint16_t *from) {
  const hn::Rebind<uint16_t, LanesTag> half;
  const hn::RebindToUnsigned<LanesTag> wide;
  return hn::BitCast(kTag, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(half, from))));
}
inline void storeHalf(Lanes value, uint16_t *to) {
  const hn::Rebind<hwy::float16_t, LanesTag> half;
  hn::StoreU(hn::DemoteTo(half, value), half, reinterpret_cast<hwy::float16_t *>(to));
}
inline Lanes add(Lanes a, Lanes b) {
  return hn::Add(a, b);
}
inline Lanes sub(Lanes a, Lanes b) {
  return hn::Sub(a, b);
}
inline Lanes mul(Lanes a, Lanes b) {
  return hn::Mul(a, b);
}
inline Lanes div(Lanes a, Lanes b) {
  return hn::Div(a, b);
}
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return hn::MulAdd(a, b, c);
}
inline Lanes maximum(Lanes a, Lanes b) {
  return hn::Max(a, b);
}
inline Lanes minimum(Lanes a, Lanes b) {
  return hn::Min(a, b);
}
inline Lanes absolute(Lanes a) {
  return hn::Abs(a);
}
inline Lanes roundEven(Lanes a) {
  return hn::Round(a);
}
inline Lanes selectGreater(Lanes a, Lanes b, Lanes x, Lanes y) {
  return hn::IfThenElse(hn::Gt(a, b), x, y);
}
inline Lanes selectNaN(Lanes a, Lanes x, Lanes y) {
  return hn::IfThenElse(hn::IsNaN(a), x, y);
}
inline Lanes scaleTwice(Lanes p, Lanes n) {
  const auto exponent = hn::ConvertTo(kIntTag, n);
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(kIntTag, 127);
  const Lanes first = hn::BitCast(kTag, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const Lanes second = hn::BitCast(kTag, hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias)));
  return hn::Mul(hn::Mul(p, first), second);
}
inline void storeCodes(Lanes value, int8_t *to) {
  const hn::Rebind<int8_t, LanesTag> codes;
  hn::StoreU(hn::DemoteTo(codes, hn::ConvertTo(kIntTag, value)), codes, to);
}
inline Lanes loadCodes(const int8_t *from) {
  const hn::Rebind<int8_t, LanesTag> codes;
  return hn::ConvertTo(kTag, hn::PromoteTo(kIntTag, hn::LoadU(codes, from)));
}
inline float treeSum(Lanes value) {
  const hn::FixedTag<float, 8> eight;
  const hn::FixedTag<float, 4> four;
  const auto a = hn::Add(hn::LowerHalf(eight, value), hn::UpperHalf(eight, value));
  const auto b = hn::Add(hn::LowerHalf(four, a), hn::UpperHalf(four, a));
  const auto c = hn::Add(b, hn::Shuffle1032(b));
  return hn::GetLane(hn::Add(c, hn::Shuffle2301(c)));
}
/// Lane i of the result is the lanes of vector i under `op`, by halves. Pairs of vectors are halved
/// together, so that no lane is ever wasted: after the step s the vectors hold s lanes of each of
/// 16 / s sources. A vector is taken where its lane comes out in its place.
template <typename Op> inline Lanes reduceAll(const Lanes *vectors, Op op) {
  constexpr int kPlace[16] = {0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15};
  Lanes a[8], b[4], c[2];
  for (int i = 0; i < 8; ++i) {
    const Lanes x = vectors[kPlace[i]], y = vectors[kPlace[i + 8]];
    a[i] = op(hn::ConcatLowerLower(kTag, y, x), hn::ConcatUpperUpper(kTag, y, x));
  }
  for (int i = 0; i < 4; ++i)
    b[i] = op(Lanes{_mm512_shuffle_f32x4(a[i].raw, a[i + 4].raw, 0x88)},
              Lanes{_mm512_shuffle_f32x4(a[i].raw, a[i + 4].raw, 0xdd)});
  const hn::Repartition<double, LanesTag> pairs;
  for (int i = 0; i < 2; ++i) {
    const auto x = hn::BitCast(pairs, b[i]), y = hn::BitCast(pairs, b[i + 2]);
    c[i] = op(hn::BitCast(kTag, hn::InterleaveLower(pairs, x, y)),
              hn::BitCast(kTag, hn::InterleaveUpper(pairs, x, y)));
  }
  return op(Lanes{_mm512_shuffle_ps(c[0].raw, c[1].raw, 0x88)},
            Lanes{_mm512_shuffle_ps(c[0].raw, c[1].raw, 0xdd)});
}
inline Lanes treeSums(const Lanes *vectors) {
  return reduceAll(vectors, [](Lanes a, Lanes b) { return add(a, b); });
}
inline Lanes greatests(const Lanes *vectors) {
  return reduceAll(vectors, [](Lanes a, Lanes b) { return maximum(a, b); });
}
inline float greatest(Lanes value) {
  return hn::GetLane(hn::MaxOfLanes(kTag, value));
}

} // namespace
