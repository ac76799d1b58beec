//===- unrolled.h - loops whose index is a constant -----------------------===//
#pragma once

#include <stdint.h>
#include <utility>

namespace {

template <typename F, int64_t... I>
__attribute__((always_inline)) inline void unrolledOver(F f, std::integer_sequence<int64_t, I...>) {
  (f(std::integral_constant<int64_t, I>{}), ...);
}

/// f(0), f(1) .. f(N - 1), each with its index as a constant.
template <int64_t N, typename F> __attribute__((always_inline)) inline void unrolled(F f) {
  unrolledOver(f, std::make_integer_sequence<int64_t, N>{});
}

} // namespace
