//===- model_abi.h - what an emitted model exports ------------------------===//
//
// The emitted library has one exported function, writ_model(). Everything else that the runtime
// needs to know of a model stands in the constant that it returns.
//
//===----------------------------------------------------------------------===//
#ifndef WRIT_MODEL_ABI_H
#define WRIT_MODEL_ABI_H

#include "writ/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WRIT_MODEL_ABI 3

/// Layers that share one KV shape.
typedef struct writ_kv_group {
  const char *storage; ///< "f16"
  int64_t layers;
  int64_t kv_heads;
  int64_t head_dim;
  int64_t row_bytes; ///< bytes of one head's vector: row_bytes(storage, head_dim)
  int64_t window;    ///< positions that a query may see, itself included; 0: all
} writ_kv_group;

typedef struct writ_call_info {
  const char *op;     ///< the circuit's name of the op: "blk.3.attn_q"
  const char *family; ///< "linear"
  const char *contract;
  const char *provider;
} writ_call_info;

typedef struct writ_model_desc {
  uint32_t abi;        ///< WRIT_MODEL_ABI
  uint32_t production; ///< 0: built with --bringup, not for production
  const char *name;
  const char *circuit;
  const char *profile;
  const char *resolution_sha256;
  const char *call_sha256;    ///< of the text that the code was emitted from (ir/call.mlir)
  const char *model_sha256;   ///< of the model file; empty where there was none
  const char *circuit_sha256; ///< of its canonical JSON
  const char *profile_sha256; ///< of its canonical JSON
  int64_t vocabulary;
  int64_t context_length;     ///< positions that the model was made for
  int64_t row_arena_bytes;    ///< for each row of a step
  int64_t output_arena_bytes; ///< for each output row of a step
  int64_t logits_offset; ///< bytes per output row, in the output arena; f32 [outputs, vocabulary]
  int64_t weights_bytes; ///< of the packed weights' data
  uint32_t kv_group_count;
  const writ_kv_group *kv_groups;
  uint32_t call_count; ///< calls of both entries, prefill first
  const writ_call_info *calls;
  uint32_t phases_alike; ///< 1: prefill and decode rows may share one step
  void (*prefill)(const writ_step *step);
  void (*decode)(const writ_step *step);
  const writ_provider *sample;          ///< args: writ_sample_args
  const writ_provider *log_probability; ///< args: writ_log_probability_args
} writ_model_desc;

/// The argument block of every provider of the family `sample`; one unit is one row.
typedef struct writ_sample_args {
  const float *logits; ///< [rows, vocabulary]; non-finite: token -1
  int64_t rows;
  int64_t vocabulary;
  const void *parameters; ///< writ_sample_parameters[rows]
  void *scratch;          ///< rows * vocabulary * 16 bytes
  int32_t *token;         ///< [rows]
} writ_sample_args;

typedef struct writ_sample_parameters {
  float temperature;    ///< 0: the largest logit
  float top_p;          ///< 1: off
  float min_p;          ///< 0: off
  float repeat_penalty; ///< 1: off
  int64_t top_k;        ///< 0: off
  uint64_t seed;
  uint64_t stream;       ///< the caller's stream id
  uint64_t position;     ///< of the token to be drawn
  const int32_t *recent; ///< the last tokens, at most 64, for the repetition penalty
  int64_t recent_count;
} writ_sample_parameters;

/// The argument block of every provider of the family `log_probability`; one unit is one row.
typedef struct writ_log_probability_args {
  const float *logits;  ///< [rows, vocabulary]
  const int32_t *token; ///< [rows]
  int64_t rows;
  int64_t vocabulary;
  float *out; ///< [rows]
} writ_log_probability_args;

const writ_model_desc *writ_model(void);

#ifdef __cplusplus
}
#endif
#endif
