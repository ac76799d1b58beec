//===- units.h - integers in the last bits of a binary32 -------------------===//
//
// A number below 2^22 plus kUnits is rounded to an integer n, ties to even, and has n in its last
// bits: no conversion is needed to use n as one.
//
//   scaleShifted(p, s)                  p * 2^n of s = kUnits + n, where p and that are normal
//   storeShifted(s, to)                 int8 n of s = kUnits + n, n in [-127, 127]
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kernels/cpu/simd/lanes.h"

namespace {

constexpr float kUnits = 0x1.8p+23f;

#if WRIT_ISA_LEVEL == 0

inline Lanes scaleShifted(const Lanes &p, const Lanes &s) {
  Lanes result;
  for (int i = 0; i < kLanes; ++i)
    result.v[i] = floatFromBits(bitsOfFloat(p.v[i]) + (bitsOfFloat(s.v[i]) << 23));
  return result;
}
inline void storeShifted(const Lanes &s, int8_t *to) {
  for (int i = 0; i < kLanes; ++i)
    to[i] = static_cast<int8_t>(bitsOfFloat(s.v[i]));
}

#else

/// Of one vector register.
template <typename Register> inline Register scaleRegister(Register p, Register s) {
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(kIntTag, s));
  return hn::BitCast(kTag, hn::Add(hn::BitCast(kIntTag, p), exponent));
}

#if WRIT_ISA_LEVEL == 2 || WRIT_ISA_LEVEL == 5

inline Lanes scaleShifted(Lanes p, Lanes s) {
  return scaleRegister(p, s);
}
inline void storeShifted(Lanes s, int8_t *to) {
  const hn::Rebind<uint8_t, LanesTag> codes;
  const hn::RebindToUnsigned<LanesTag> words;
  hn::StoreU(hn::TruncateTo(codes, hn::BitCast(words, s)), codes, reinterpret_cast<uint8_t *>(to));
}

#elif WRIT_ISA_LEVEL == 1

inline Lanes scaleShifted(Lanes p, Lanes s) {
  return {scaleRegister(p.lo, s.lo), scaleRegister(p.hi, s.hi)};
}
inline void storeShifted(HalfLanes s, int8_t *to) {
  const hn::Rebind<int8_t, HalfTag> codes;
  const auto zero = hn::BitCast(kIntTag, hn::Set(kTag, kUnits));
  hn::StoreU(hn::DemoteTo(codes, hn::Sub(hn::BitCast(kIntTag, s), zero)), codes, to);
}
inline void storeShifted(Lanes s, int8_t *to) {
  storeShifted(s.lo, to);
  storeShifted(s.hi, to + 8);
}

#else

inline Lanes scaleShifted(Lanes p, Lanes s) {
  Lanes result;
  for (int i = 0; i < 4; ++i)
    result.q[i] = scaleRegister(p.q[i], s.q[i]);
  return result;
}
inline void storeShifted(Lanes s, int8_t *to) {
  storeCodes(sub(s, broadcast(kUnits)), to);
}

#endif
#endif

} // namespace
