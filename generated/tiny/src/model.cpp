// tiny: one function for each kind of layer, one entry for each phase.
//
// Emitted by Writ from the circuit 'llama' under the profile 'portable' for cpu.
// Do not edit: a changed model is a new compilation.
//
//   circuit     2fc246578a65cafb6bb45b1fb78c757705498756a3d0524e03cf3a0ffd03763c
//   profile     03891e401a96159685f7e64d2b2d76e2f0a58d896b76ff90339ca4ec2e8fbb59
//   resolution  faeac255a2cf37d0a89de0171236c24b74c4a55c8a656dbca93a5c5036ab8f3f
#include "model.h"

#include "writ/kernels/attention_f16_tiles32_chunks256.h"
#include "writ/kernels/embedding_q8_0.h"
#include "writ/kernels/kv_store_f16.h"
#include "writ/kernels/linear_q4_1_i8_b32.h"
#include "writ/kernels/linear_q8_0_i8_b32.h"
#include "writ/kernels/log_probability_f32.h"
#include "writ/kernels/quantize_activation_i8_b32.h"
#include "writ/kernels/residual_f32.h"
#include "writ/kernels/rms_norm_f32_quantize_i8_b32.h"
#include "writ/kernels/rope_interleaved_f32.h"
#include "writ/kernels/rope_table_f64.h"
#include "writ/kernels/sample_philox.h"
#include "writ/kernels/select_rows_f32.h"
#include "writ/kernels/silu_gate_f32_quantize_i8_b32.h"

namespace {

/// A weight at a byte offset in the packed weights.
const void *weight(const writ_step *step, int64_t offset) {
  return static_cast<const char *>(step->weights) + offset;
}

/// A buffer with a row for each row of the step.
void *row_buffer(const writ_step *step, int64_t offset) {
  return static_cast<char *>(step->row_arena) + offset * step->max_rows;
}

/// A buffer with a row for each output row of the step.
void *output_buffer(const writ_step *step, int64_t offset) {
  return static_cast<char *>(step->output_arena) + offset * step->max_outputs;
}

/// The prologue, 2 calls from number `call` on.
void run_prologue(const writ_step *step, uint32_t call) {
  // token_embd: embedding
  embedding_q8_0_threaded(step, call + 0, {
      .weight = weight(step, 0), // token_embd.weight
      .token = step->rows->token,
      .out = row_buffer(step, 128),
      .rows = step->rows->count,
      .vocabulary = 320,
      .n = 64,
  });
  // rope_table: rope_table
  rope_table_f64_threaded(step, call + 1, {
      .frequencies = weight(step, 21760), // rope_table.frequencies
      .position = step->rows->position,
      .out = row_buffer(step, 0),
      .rows = step->rows->count,
      .rope_dims = 32,
  });
}

/// Where the layer functions find what is their own: bytes in the packed weights, bytes per row in
/// an arena, layers of a KV group.
struct LayerPlaces {
  int64_t attn_norm_i8_b32_sf32_weight;
  int64_t attn_q_weight;
  int64_t attn_k_weight;
  int64_t attn_v_weight;
  int64_t kv_store_layer;
  int64_t attention_layer;
  int64_t attn_output_weight;
  int64_t ffn_norm_i8_b32_sf32_weight;
  int64_t ffn_gate_weight;
  int64_t ffn_up_weight;
  int64_t ffn_down_weight;
};
constexpr LayerPlaces kLayerPlaces[] = {
    {
        // layer 0
        .attn_norm_i8_b32_sf32_weight = 21888, .attn_q_weight = 22144, .attn_k_weight = 24704,
        .attn_v_weight = 25984, .kv_store_layer = 0, .attention_layer = 0,
        .attn_output_weight = 27264, .ffn_norm_i8_b32_sf32_weight = 29824, .ffn_gate_weight = 30080,
        .ffn_up_weight = 33920, .ffn_down_weight = 37760
    },
    {
        // layer 1
        .attn_norm_i8_b32_sf32_weight = 41600, .attn_q_weight = 41856, .attn_k_weight = 44416,
        .attn_v_weight = 45696, .kv_store_layer = 1, .attention_layer = 1,
        .attn_output_weight = 46976, .ffn_norm_i8_b32_sf32_weight = 49536, .ffn_gate_weight = 49792,
        .ffn_up_weight = 53632, .ffn_down_weight = 57472
    },
};

/// One layer of 2, 17 calls from number `call` on.
void run_layer(const writ_step *step, uint32_t call, const LayerPlaces &at) {
  // attn_norm_i8_b32_sf32: rms_norm_quantize
  rms_norm_f32_quantize_i8_b32_threaded(step, call + 0, {
      .input = row_buffer(step, 128),
      .weight = weight(step, at.attn_norm_i8_b32_sf32_weight),
      .out = row_buffer(step, 384),
      .rows = step->rows->count,
      .n = 64,
      .epsilon = 0x1.4f8b58p-17f,
  });
  // attn_q: linear
  linear_q4_1_i8_b32_threaded(step, call + 1, {
      .activation = row_buffer(step, 384),
      .weight = weight(step, at.attn_q_weight),
      .bias = nullptr,
      .out = row_buffer(step, 512),
      .rows = step->rows->count,
      .k = 64,
      .n = 64,
  });
  // attn_k: linear
  linear_q4_1_i8_b32_threaded(step, call + 2, {
      .activation = row_buffer(step, 384),
      .weight = weight(step, at.attn_k_weight),
      .bias = nullptr,
      .out = row_buffer(step, 768),
      .rows = step->rows->count,
      .k = 64,
      .n = 32,
  });
  // attn_v: linear
  linear_q4_1_i8_b32_threaded(step, call + 3, {
      .activation = row_buffer(step, 384),
      .weight = weight(step, at.attn_v_weight),
      .bias = nullptr,
      .out = row_buffer(step, 896),
      .rows = step->rows->count,
      .k = 64,
      .n = 32,
  });
  // rope_q: rope
  rope_interleaved_f32_threaded(step, call + 4, {
      .input = row_buffer(step, 512),
      .table = row_buffer(step, 0),
      .out = row_buffer(step, 1024),
      .rows = step->rows->count,
      .heads = 2,
      .head_dim = 32,
      .rope_dims = 32,
  });
  // rope_k: rope
  rope_interleaved_f32_threaded(step, call + 5, {
      .input = row_buffer(step, 768),
      .table = row_buffer(step, 0),
      .out = row_buffer(step, 384),
      .rows = step->rows->count,
      .heads = 1,
      .head_dim = 32,
      .rope_dims = 32,
  });
  // kv_store: kv_store
  kv_store_f16_threaded(step, call + 6, {
      .k = row_buffer(step, 384),
      .v = row_buffer(step, 896),
      .kv = &step->kv[0],
      .layer = at.kv_store_layer,
      .position = step->rows->position,
      .sequence = step->rows->sequence,
      .rows = step->rows->count,
      .kv_heads = 1,
      .head_dim = 32,
  });
  // attention: attention
  attention_f16_tiles32_chunks256_threaded(step, call + 7, {
      .q = row_buffer(step, 1024),
      .kv = &step->kv[0],
      .layer = at.attention_layer,
      .position = step->rows->position,
      .sequence = step->rows->sequence,
      .out = row_buffer(step, 384),
      .rows = step->rows->count,
      .heads = 2,
      .kv_heads = 1,
      .head_dim = 32,
      .scale = 0x1.6a09e6p-3f,
  });
  // attention_i8_b32_sf32: quantize_activation
  quantize_activation_i8_b32_threaded(step, call + 8, {
      .input = row_buffer(step, 384),
      .out = row_buffer(step, 640),
      .rows = step->rows->count,
      .k = 64,
  });
  // attn_output: linear
  linear_q4_1_i8_b32_threaded(step, call + 9, {
      .activation = row_buffer(step, 640),
      .weight = weight(step, at.attn_output_weight),
      .bias = nullptr,
      .out = row_buffer(step, 768),
      .rows = step->rows->count,
      .k = 64,
      .n = 64,
  });
  // attn_residual: residual
  residual_f32_threaded(step, call + 10, {
      .a = row_buffer(step, 128),
      .b = row_buffer(step, 768),
      .out = row_buffer(step, 384),
      .rows = step->rows->count,
      .n = 64,
  });
  // ffn_norm_i8_b32_sf32: rms_norm_quantize
  rms_norm_f32_quantize_i8_b32_threaded(step, call + 11, {
      .input = row_buffer(step, 384),
      .weight = weight(step, at.ffn_norm_i8_b32_sf32_weight),
      .out = row_buffer(step, 128),
      .rows = step->rows->count,
      .n = 64,
      .epsilon = 0x1.4f8b58p-17f,
  });
  // ffn_gate: linear
  linear_q4_1_i8_b32_threaded(step, call + 12, {
      .activation = row_buffer(step, 128),
      .weight = weight(step, at.ffn_gate_weight),
      .bias = nullptr,
      .out = row_buffer(step, 640),
      .rows = step->rows->count,
      .k = 64,
      .n = 96,
  });
  // ffn_up: linear
  linear_q4_1_i8_b32_threaded(step, call + 13, {
      .activation = row_buffer(step, 128),
      .weight = weight(step, at.ffn_up_weight),
      .bias = nullptr,
      .out = row_buffer(step, 1024),
      .rows = step->rows->count,
      .k = 64,
      .n = 96,
  });
  // ffn_act_i8_b32_sf32: gate_quantize
  silu_gate_f32_quantize_i8_b32_threaded(step, call + 14, {
      .gate = row_buffer(step, 640),
      .up = row_buffer(step, 1024),
      .out = row_buffer(step, 128),
      .rows = step->rows->count,
      .n = 96,
  });
  // ffn_down: linear
  linear_q4_1_i8_b32_threaded(step, call + 15, {
      .activation = row_buffer(step, 128),
      .weight = weight(step, at.ffn_down_weight),
      .bias = nullptr,
      .out = row_buffer(step, 640),
      .rows = step->rows->count,
      .k = 96,
      .n = 64,
  });
  // ffn_residual: residual
  residual_f32_threaded(step, call + 16, {
      .a = row_buffer(step, 384),
      .b = row_buffer(step, 640),
      .out = row_buffer(step, 128),
      .rows = step->rows->count,
      .n = 64,
  });
}

/// The epilogue, 3 calls from number `call` on.
void run_epilogue(const writ_step *step, uint32_t call) {
  // output_rows: select_rows
  select_rows_f32_threaded(step, call + 0, {
      .input = row_buffer(step, 128),
      .output_row = step->rows->output_row,
      .out = output_buffer(step, 0),
      .rows = step->rows->outputs,
      .n = 64,
  });
  // output_norm_i8_b32_sf32: rms_norm_quantize
  rms_norm_f32_quantize_i8_b32_threaded(step, call + 1, {
      .input = output_buffer(step, 0),
      .weight = weight(step, 61312), // output_norm.weight
      .out = output_buffer(step, 1280),
      .rows = step->rows->outputs,
      .n = 64,
      .epsilon = 0x1.4f8b58p-17f,
  });
  // logits: linear
  linear_q8_0_i8_b32_threaded(step, call + 2, {
      .activation = output_buffer(step, 1280),
      .weight = weight(step, 0), // token_embd.weight
      .bias = nullptr,
      .out = output_buffer(step, 0),
      .rows = step->rows->outputs,
      .k = 64,
      .n = 320,
  });
}

/// Both phases make the same calls.
void run_step(const writ_step *step, uint32_t call) {
  run_prologue(step, call + 0);
  for (uint32_t i = 0; i < 2; ++i)
    run_layer(step, call + 2 + i * 17, kLayerPlaces[i]);
  run_epilogue(step, call + 36);
}

void prefill(const writ_step *step) { run_step(step, 0); }
void decode(const writ_step *step) { run_step(step, model::kPrefillCalls); }

constexpr writ_kv_group kKvGroups[model::kKvGroupCount] = {
    {
        .storage = "f16", .layers = 2, .kv_heads = 1, .head_dim = 32, .row_bytes = 64, .window = 0
    },
};

const writ_model_desc kModel = {
    .abi = WRIT_MODEL_ABI,
    .production = 1,
    .name = "tiny",
    .circuit = "llama",
    .profile = "portable",
    .resolution_sha256 = "faeac255a2cf37d0a89de0171236c24b74c4a55c8a656dbca93a5c5036ab8f3f",
    .call_sha256 = "65ae3b8f626fea8a8f24f859e7cb41cd758a031822877bcf99fe9c48c1d58f22",
    .model_sha256 = "",
    .circuit_sha256 = "2fc246578a65cafb6bb45b1fb78c757705498756a3d0524e03cf3a0ffd03763c",
    .profile_sha256 = "03891e401a96159685f7e64d2b2d76e2f0a58d896b76ff90339ca4ec2e8fbb59",
    .vocabulary = model::kVocabulary,
    .context_length = model::kContextLength,
    .row_arena_bytes = model::kRowArenaBytes,
    .output_arena_bytes = model::kOutputArenaBytes,
    .logits_offset = model::kLogitsOffset,
    .weights_bytes = model::kWeightsBytes,
    .kv_group_count = model::kKvGroupCount,
    .kv_groups = kKvGroups,
    .call_count = model::kPrefillCalls + model::kDecodeCalls,
    .calls = model::kCalls,
    .phases_alike = 1,
    .prefill = prefill,
    .decode = decode,
    .sample = &sample_philox_provider,
    .log_probability = &log_probability_f32_provider,
};

} // namespace

extern "C" const writ_model_desc *writ_model(void) { return &kModel; }
