//===- kernel_abi.h - what a kernel is given ------------------------------===//
//
// One kernel provider is one set of bodies (one for each instruction set) that keep the same bits.
// A body computes the units [begin, end) of its output; units are disjoint, so any split over
// threads gives the same result. Each provider's argument block is generated from its kernel map:
// a struct of 8-byte slots in the order of the map's `arguments` (writ/kernels/<id>.h).
//
//===----------------------------------------------------------------------===//
#ifndef WRIT_KERNEL_ABI_H
#define WRIT_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Instruction sets, those of one architecture in ascending order: a machine that has one has all
/// of its architecture before it, and a provider has no bodies of another architecture.
typedef enum writ_isa {
  WRIT_ISA_SCALAR = 0,     ///< any machine
  WRIT_ISA_AVX2 = 1,       ///< x86-64: AVX2, FMA, F16C
  WRIT_ISA_AVX512 = 2,     ///< x86-64: AVX-512 F, BW, DQ, VL and VNNI
  WRIT_ISA_NEON = 3,       ///< AArch64: what every machine has
  WRIT_ISA_DOTPROD = 4,    ///< AArch64: the dot product instructions
  WRIT_ISA_AVX512BF16 = 5, ///< x86-64: AVX-512 with the dot products of bfloat16
  WRIT_ISA_COUNT = 6
} writ_isa;

/// The rows of one step. A row is one token of one sequence; prefill chunks and decode are one
/// shape.
typedef struct writ_rows {
  int64_t count;             ///< rows in this step
  const int32_t *token;      ///< [count] token ids
  const int32_t *position;   ///< [count] absolute positions
  const int32_t *sequence;   ///< [count] row of the block table
  int64_t outputs;           ///< rows whose logits are wanted
  const int32_t *output_row; ///< [outputs] ascending indices into the rows
} writ_rows;

/// Paged KV of one group of layers, as the allocator laid it out (DESIGN "Runtime"): one
/// allocation, a K plane then a V plane, each
/// [layer][physical_block][token_in_block][kv_head][head_dim]. Strides are in bytes.
/// block_table[sequence * table_stride + position / block_size] is the physical block of a
/// position.
typedef struct writ_kv_view {
  void *k_plane;
  void *v_plane;
  int64_t layer_stride;
  int64_t page_stride;
  int64_t token_stride;
  int64_t block_size; ///< tokens of one page
  int64_t physical_blocks;
  const int32_t *block_table;
  int64_t table_stride; ///< entries of one sequence's row
  /// 1 or less: a unit sees all keys of its query. More: the keys of each query are divided, at
  /// places of the contract's choice, into this many parts, each a unit, whose states lie in
  /// `partials` until the merge (writ_launch_merged). A provider that cannot, or whose states would
  /// need more than `partial_bytes`, leaves the keys of a query together.
  int64_t parts;
  float *partials;
  int64_t partial_bytes;
} writ_kv_view;

/// Computes units [begin, end). `args` is the provider's argument block.
typedef void (*writ_body)(const void *args, int64_t begin, int64_t end);

/// One provider: its bodies by instruction set (null where it has none; scalar is always there).
typedef struct writ_provider {
  const char *id;
  const char
      *source_sha256; ///< of the kernel's sources and every header of the project they include
  writ_body bodies[WRIT_ISA_COUNT];
} writ_provider;

struct writ_step;
typedef struct writ_pool writ_pool;

/// Called after each kernel of a step, on the calling thread.
typedef void (*writ_trace)(void *user, const struct writ_step *step, uint32_t call,
                           const writ_provider *provider, const void *args);

/// Everything that one run of a model's entry needs. Arena offsets of the emitted code are in bytes
/// per row (per output row); a buffer lies at arena + offset * max_rows (max_outputs).
typedef struct writ_step {
  const writ_rows *rows;
  const writ_kv_view *kv; ///< one for each KV group
  const void *weights;    ///< base of the packed weights' data
  void *row_arena;
  void *output_arena;
  int64_t max_rows;
  int64_t max_outputs;
  writ_isa isa; ///< the best body up to this one runs
  writ_pool *pool;
  writ_trace trace; ///< may be null
  void *trace_user;
} writ_step;

/// Runs one kernel over ceil(extent / grain) units, statically divided over the pool's threads; one
/// unit runs on the calling thread. `call` is the index in the model's call list.
void writ_launch(const writ_step *step, uint32_t call, const writ_provider *provider,
                 const void *args, int64_t extent, int64_t grain);

/// A kernel that may work on the parts of a unit apart: as writ_launch over `parts` times the
/// extent; then, where `parts` is more than 1, the merge (one body for each instruction set, of
/// `merges`) over merge_extent units. The trace sees one kernel, after the merge.
void writ_launch_merged(const writ_step *step, uint32_t call, const writ_provider *provider,
                        const void *args, int64_t extent, int64_t grain, int64_t parts,
                        const writ_body *merges, int64_t merge_extent);

#ifdef __cplusplus
}
#endif
#endif
