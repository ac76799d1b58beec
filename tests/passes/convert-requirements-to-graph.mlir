// RUN: writ-opt --resolve-providers=data=%root --convert-requirements-to-graph %root/generated/tiny/ir/requirements.mlir -mlir-print-debuginfo | diff - %root/generated/tiny/ir/graph.mlir
// RUN: FileCheck %s < %root/generated/tiny/ir/graph.mlir
//
// C4: the decision is recorded on each op. q, k and v share one set of codes, which is made with the norm.
// CHECK-NOT: graph.requirement
// CHECK: graph.entry @prefill(%rows: !graph.rows{{.*}}, %kv0: !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>
// CHECK: %[[X:.*]] = graph.embedding "token_embd"(%rows) weight @token_embd.weight scale "none" dimensions {n = 64 : i64, vocabulary = 320 : i64} in "prologue" resolved(@resolutions::@r0, #embedding
// CHECK: %[[CODES:.*]] = graph.rms_norm_quantize "blk.0.attn_norm.i8_b32_sf32"(%[[X]])
// CHECK-SAME: -> tensor<?x64xi8, "i8_b32_sf32">
// CHECK-NOT: quantize_activation
// CHECK: graph.linear "blk.0.attn_q"(%[[CODES]])
// CHECK-NOT: quantize_activation
// CHECK: graph.linear "blk.0.attn_k"(%[[CODES]])
// CHECK-NOT: quantize_activation
// CHECK: graph.linear "blk.0.attn_v"(%[[CODES]])
// CHECK: %[[KV1:.*]] = graph.kv_store "blk.0.kv_store"({{.*}}, %kv0) kv @kv0[0]
// CHECK: graph.attention "blk.0.attention"({{.*}}, %[[KV1]]) kv @kv0[0]
// CHECK: %[[KV2:.*]] = graph.kv_store "blk.1.kv_store"({{.*}}, %[[KV1]]) kv @kv0[1]
// CHECK: graph.select_rows "output_rows"
// CHECK: %[[LOGITS:.*]] = graph.linear "logits"({{.*}}) weight @token_embd.weight
// CHECK: graph.return %[[LOGITS]], %[[KV2]]
// CHECK: graph.entry @decode
// CHECK: graph.host_op "sample" : "sample"
