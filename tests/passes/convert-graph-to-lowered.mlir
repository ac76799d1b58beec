// RUN: writ-opt --convert-graph-to-lowered %root/generated/tiny/ir/graph.mlir -mlir-print-debuginfo | diff - %root/generated/tiny/ir/lowered.mlir
// RUN: FileCheck %s < %root/generated/tiny/ir/lowered.mlir
//
// Weights lie one after another; buffers share bytes by liveness; the logits lie at the head of theirs.
// CHECK-NOT: graph.weight
// CHECK: lowered.weight @token_embd.weight tensor "token_embd.weight" "q8_0" [320, 64] layout "panel16_k4" offset 0 bytes 21760
// CHECK: lowered.weight @rope_table.frequencies tensor "rope_table.frequencies" "f64" [16] layout "plain" offset 21760 bytes 128 values dense<[1.000000e+00, 0.562341325
// CHECK: lowered.memory row_arena {{[0-9]+}} output_arena {{[0-9]+}} logits_offset 0 weights {{[0-9]+}} kv_per_token 256
// CHECK: lowered.entry @prefill {
// CHECK: %[[X:.*]] = lowered.buffer offset {{[0-9]+}} bytes 256 live[0, {{[0-9]+}}] : <"rows", "f32", 64>
// CHECK: lowered.embedding "token_embd" ins() outs(%[[X]] :
// CHECK: lowered.buffer offset {{[0-9]+}} bytes 128 live{{.*}} : <"rows", "i8_b32_sf32", 64>
// CHECK: lowered.rms_norm_quantize "blk.0.attn_norm.i8_b32_sf32"
// CHECK: lowered.kv_store "blk.1.kv_store" {{.*}} outs() {{.*}} kv @kv0[1]
// CHECK: lowered.select_rows "output_rows" ins(%{{.*}} : !lowered.buffer<"rows", "f32", 64>) outs(%{{.*}} : !lowered.buffer<"outputs", "f32", 64>)
// CHECK: lowered.buffer offset 0 bytes 1280 live{{.*}} : <"outputs", "f32", 320>
// CHECK: lowered.linear "logits"
