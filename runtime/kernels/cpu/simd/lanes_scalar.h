//===- lanes_scalar.h - 16 lanes as an array, for any machine -------------===//
//
// See lanes.h for what each operation means.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace {

struct Lanes {
  float v[16];
};

#define WRIT_EACH_LANE(expression)                                                                 \
  Lanes result;                                                                                    \
  for (int i = 0; i < 16; ++i)                                                                     \
    result.v[i] = expression;                                                                      \
  return result

inline Lanes load(const float *from) {
  WRIT_EACH_LANE(from[i]);
}
inline void store(const Lanes &value, float *to) {
  for (int i = 0; i < 16; ++i)
    to[i] = value.v[i];
}
inline Lanes broadcast(float value) {
  WRIT_EACH_LANE(value);
}
inline Lanes zero() {
  return broadcast(0.0f);
}
inline Lanes loadHalf(const uint16_t *from) {
  WRIT_EACH_LANE(floatFromHalf(from[i]));
}
inline Lanes loadField(const uint8_t *from, int shift, uint32_t mask) {
  Lanes result;
  for (int i = 0; i < 16; ++i) {
    uint32_t word;
    __builtin_memcpy(&word, from + 4 * i, sizeof(word));
    result.v[i] = static_cast<float>(static_cast<int32_t>(word >> shift & mask));
  }
  return result;
}
inline Lanes loadBfloat(const uint16_t *from) {
  WRIT_EACH_LANE(floatFromBfloat(from[i]));
}
inline void storeHalf(const Lanes &value, uint16_t *to) {
  for (int i = 0; i < 16; ++i)
    to[i] = halfFromFloat(value.v[i]);
}
inline Lanes add(const Lanes &a, const Lanes &b) {
  WRIT_EACH_LANE(a.v[i] + b.v[i]);
}
inline Lanes sub(const Lanes &a, const Lanes &b) {
  WRIT_EACH_LANE(a.v[i] - b.v[i]);
}
inline Lanes mul(const Lanes &a, const Lanes &b) {
  WRIT_EACH_LANE(a.v[i] * b.v[i]);
}
inline Lanes div(const Lanes &a, const Lanes &b) {
  WRIT_EACH_LANE(a.v[i] / b.v[i]);
}
inline Lanes fma(const Lanes &a, const Lanes &b, const Lanes &c) {
  WRIT_EACH_LANE(__builtin_fmaf(a.v[i], b.v[i], c.v[i]));
}
inline Lanes maximum(const Lanes &a, const Lanes &b) {
  WRIT_EACH_LANE(a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
}
inline Lanes minimum(const Lanes &a, const Lanes &b) {
  WRIT_EACH_LANE(a.v[i] < b.v[i] ? a.v[i] : b.v[i]);
}
inline Lanes absolute(const Lanes &a) {
  WRIT_EACH_LANE(__builtin_fabsf(a.v[i]));
}
inline Lanes roundEven(const Lanes &a) {
  WRIT_EACH_LANE(roundToInteger(a.v[i]));
}
inline Lanes selectGreater(const Lanes &a, const Lanes &b, const Lanes &x, const Lanes &y) {
  WRIT_EACH_LANE(a.v[i] > b.v[i] ? x.v[i] : y.v[i]);
}
inline Lanes selectNaN(const Lanes &a, const Lanes &x, const Lanes &y) {
  WRIT_EACH_LANE(a.v[i] != a.v[i] ? x.v[i] : y.v[i]);
}
inline Lanes scaleTwice(const Lanes &p, const Lanes &n) {
  Lanes result;
  for (int i = 0; i < 16; ++i) {
    const int32_t exponent = static_cast<int32_t>(n.v[i]), half = exponent >> 1;
    result.v[i] = (p.v[i] * powerOfTwo(half)) * powerOfTwo(exponent - half);
  }
  return result;
}
inline void storeCodes(const Lanes &value, int8_t *to) {
  for (int i = 0; i < 16; ++i)
    to[i] = static_cast<int8_t>(value.v[i]);
}
inline Lanes loadCodes(const int8_t *from) {
  WRIT_EACH_LANE(static_cast<float>(from[i]));
}
inline float treeSum(const Lanes &value) {
  Lanes sum = value;
  for (int s = 8; s > 0; s >>= 1)
    for (int i = 0; i < s; ++i)
      sum.v[i] += sum.v[i + s];
  return sum.v[0];
}
inline Lanes treeSums(const Lanes *vectors) {
  WRIT_EACH_LANE(treeSum(vectors[i]));
}
inline float greatest(const Lanes &value) {
  float result = value.v[0];
  for (int i = 1; i < 16; ++i)
    result = value.v[i] > result ? value.v[i] : result;
  return result;
}
inline Lanes greatests(const Lanes *vectors) {
  WRIT_EACH_LANE(greatest(vectors[i]));
}

#undef WRIT_EACH_LANE

} // namespace
