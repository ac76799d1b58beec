// RUN: writ-opt --resolve-providers=data=%root %root/generated/tiny/ir/requirements.mlir | FileCheck %s
//
// C3, C4: each requirement has one entry in the table, which is sealed by its digest.
// CHECK: #[[LINEAR:linear_[a-z0-9_]+]] = #graph.execution<contract = "{{.+}}", contract_sha256 = "{{[0-9a-f]+}}"
// CHECK: graph.requirement @r0 "token_embd" : "embedding" in "prefill"
// CHECK: graph.resolutions @resolutions sha256 "{{[0-9a-f]+}}" {
// CHECK-NEXT: graph.resolution @r0 "token_embd" : "embedding" in "prefill" is #embedding
// CHECK: graph.resolution @{{r[0-9]+}} "blk.0.attn_norm.i8_b32_sf32" : "rms_norm_quantize" in "prefill" is #rms_norm_f32_quantize_i8_b32
// CHECK: graph.resolution @{{r[0-9]+}} "blk.0.attn_q" : "linear" in "prefill" is #linear
// CHECK: graph.resolution @{{r[0-9]+}} "sample" : "sample" in "sample" is #sample
