//===- body.h - how a kernel source names its body ------------------------===//
//
// A kernel source is compiled once for each instruction set of its map, with WRIT_ISA_NAME (scalar,
// avx2, avx512, neon, dotprod, avx512bf16) and WRIT_ISA_LEVEL (its number in writ_isa). Everything
// that it defines besides its body lies in an anonymous namespace: a function compiled for a wide
// instruction set must never be merged with one that runs on any machine.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WRIT_JOIN_AGAIN(a, b) a##_##b
#define WRIT_JOIN(a, b) WRIT_JOIN_AGAIN(a, b)

/// Defines the body of provider `id`: units [begin, end) of the extent of its map.
#define WRIT_BODY(id)                                                                              \
  extern "C" void WRIT_JOIN(id, WRIT_ISA_NAME)(const void *arguments, int64_t begin, int64_t end)

/// Defines the merge of provider `id`: units [begin, end) of the extent of its map's `merge`.
#define WRIT_MERGE(id) WRIT_BODY(id##_merge)

namespace {

template <typename T> const T *at(const void *base, int64_t bytes) {
  return reinterpret_cast<const T *>(static_cast<const char *>(base) + bytes);
}
template <typename T> T *at(void *base, int64_t bytes) {
  return reinterpret_cast<T *>(static_cast<char *>(base) + bytes);
}
constexpr int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
constexpr int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

} // namespace
