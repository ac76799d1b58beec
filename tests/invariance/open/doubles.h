//===- doubles.h - kernels that take what their contract leaves open ------===//
//
// The negative controls of invariance as code that runs. Each double computes what a provider of
// the portable class computes, in its argument block, but decides for itself what the contract of
// its control leaves open, as libraries do: by the width of a vector, by the rows of the call, by
// who comes first. No kernel map names one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/kernel_abi.h"

#include <atomic>
#include <vector>

struct rms_norm_f32_args;
struct attention_f16_tiles32_chunks256_args;

extern "C" {
/// RMSNorm, the sum of squares in as many lanes as a vector of the instruction set has floats.
void norm_of_vector_width_scalar(const void *args, int64_t begin, int64_t end);
void norm_of_vector_width_avx2(const void *args, int64_t begin, int64_t end);
void norm_of_vector_width_avx512(const void *args, int64_t begin, int64_t end);
void norm_of_vector_width_neon(const void *args, int64_t begin, int64_t end);
void norm_of_vector_width_dotprod(const void *args, int64_t begin, int64_t end);

/// RMSNorm, whether x·x and the sum are one operation or two left to the compiler.
void norm_left_to_gxx_O2(const void *args, int64_t begin, int64_t end);
void norm_left_to_gxx_O3(const void *args, int64_t begin, int64_t end);
void norm_left_to_clang_O2(const void *args, int64_t begin, int64_t end);
void norm_left_to_clang_O3(const void *args, int64_t begin, int64_t end);

/// float32 linear over plain weights: one row as a dot of 16 lanes, several as running sums.
void linear_by_rows(const void *args, int64_t begin, int64_t end);

/// Attention as `f16_online_single_range` has it: a score of a sequence's only row is a dot of 32
/// lanes, those of several rows are running sums.
void attention_by_step(const void *args, int64_t begin, int64_t end);
}

namespace writ::test {

/// RMSNorm of one vector, its squares summed by the pool's threads, a part of each, and what they
/// have added to one sum in the order in which they arrive. `rank` plays the system's scheduler:
/// the thread of part i arrives as number rank[i].
void normByArrival(writ_pool &pool, const rms_norm_f32_args &args, const std::vector<int> &rank);

/// Attention as `f16_online_fp32_merge` has it: each worker of the pool takes a range of the keys
/// from the threshold on, and the partials are merged in their order.
void attentionSplitKv(writ_pool &pool, const attention_f16_tiles32_chunks256_args &args);

} // namespace writ::test
