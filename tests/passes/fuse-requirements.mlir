// RUN: writ-opt --fuse-requirements=data=%root %s | FileCheck %s
// RUN: rm -rf %t && mkdir %t && cp -r %root/contracts %root/kernel_maps %root/circuits %t
// RUN: sed -i 's/"fusions": \[.*\]/"fusions": []/' %t/contracts/profiles/portable.json
// RUN: writ-opt --fuse-requirements=data=%t %s | FileCheck %s --check-prefix=OFF

// C3, C4: what a fusion of the profile is made of is one requirement, whose contract is theirs in order; it is called
// as the last part, so that its readers stay as they are, and stands where the last part stood.
// CHECK: graph.requirement @r1 "blk.0.norm.i8" : "rms_norm_quantize" in "prefill" contract "rms_norm_f32_lanes64_v0+quantize_activation_i8_b32_v0"
// CHECK-SAME: storage {input = "f32", out = "i8_b32_sf32", weight = "f32"} dimensions {n = 64 : i64, vectors = 1 : i64}
// CHECK-SAME: numbers {epsilon = 1.000000e-05 : f64} inputs {input = "x"} weights {weight = @w}
// CHECK-SAME: parts ["blk.0.norm", "blk.0.norm.i8"]
// CHECK: graph.requirement @r3 "blk.0.act.i8" : "gate_quantize" {{.*}}contract "silu_gate_f32_v0+quantize_activation_i8_b32_v0"
// CHECK-SAME: dimensions {n = 64 : i64} attributes {activation = "silu"}
// CHECK-SAME: parts ["blk.0.act", "blk.0.act.i8"]

// A value that another op reads, or the model gives, is kept; so are parts of two layers, and vectors that are no row.
// CHECK: graph.requirement @r4 "blk.1.norm" : "rms_norm"
// CHECK: graph.requirement @r5 "blk.1.norm.i8" : "quantize_activation" {{.*}}unfused "rms_norm_quantize: 'blk.1.norm' is read by 2 ops"
// CHECK: graph.requirement @r8 "blk.3.norm.i8" : "quantize_activation" {{.*}}unfused "rms_norm_quantize: 'blk.2.norm' is of another section or layer"
// CHECK: graph.requirement @r10 "heads.i8" : "quantize_activation" {{.*}}unfused "rms_norm_quantize: its parts have different 'n'"
// CHECK: graph.requirement @r12 "logits.i8" : "quantize_activation" {{.*}}unfused "rms_norm_quantize: 'logits' is the model's result"
// OFF-NOT: parts
// OFF-NOT: unfused
module {
  graph.model "m" circuit "c" profile "portable" target "cpu" vocabulary 8 context_length 16 result "logits" production true inputs {}
  graph.weight @w tensor "w" "f32" [64]
  graph.requirement @r0 "blk.0.norm" : "rms_norm" in "prefill" contract "rms_norm_f32_lanes64_v0" target "cpu" storage {input = "f32", out = "f32", weight = "f32"} dimensions {n = 64, vectors = 1} attributes {} numbers {epsilon = 1.000000e-05 : f64} inputs {input = "x"} weights {weight = @w} section "layer"[0]
  graph.requirement @r1 "blk.0.norm.i8" : "quantize_activation" in "prefill" contract "quantize_activation_i8_b32_v0" target "cpu" storage {input = "f32", out = "i8_b32_sf32"} dimensions {k = 64} attributes {} numbers {} inputs {input = "blk.0.norm"} weights {} section "layer"[0]
  graph.requirement @r2 "blk.0.act" : "gate" in "prefill" contract "silu_gate_f32_v0" target "cpu" storage {gate = "f32", out = "f32", up = "f32"} dimensions {n = 64} attributes {activation = "silu"} numbers {} inputs {gate = "x", up = "y"} weights {} section "layer"[0]
  graph.requirement @r3 "blk.0.act.i8" : "quantize_activation" in "prefill" contract "quantize_activation_i8_b32_v0" target "cpu" storage {input = "f32", out = "i8_b32_sf32"} dimensions {k = 64} attributes {} numbers {} inputs {input = "blk.0.act"} weights {} section "layer"[0]
  graph.requirement @r4 "blk.1.norm" : "rms_norm" in "prefill" contract "rms_norm_f32_lanes64_v0" target "cpu" storage {input = "f32", out = "f32", weight = "f32"} dimensions {n = 64, vectors = 1} attributes {} numbers {epsilon = 1.000000e-05 : f64} inputs {input = "x"} weights {weight = @w} section "layer"[1]
  graph.requirement @r5 "blk.1.norm.i8" : "quantize_activation" in "prefill" contract "quantize_activation_i8_b32_v0" target "cpu" storage {input = "f32", out = "i8_b32_sf32"} dimensions {k = 64} attributes {} numbers {} inputs {input = "blk.1.norm"} weights {} section "layer"[1]
  graph.requirement @r6 "blk.1.sum" : "residual" in "prefill" contract "residual_f32_v0" target "cpu" storage {a = "f32", b = "f32", out = "f32"} dimensions {n = 64} attributes {} numbers {} inputs {a = "x", b = "blk.1.norm"} weights {} section "layer"[1]
  graph.requirement @r7 "blk.2.norm" : "rms_norm" in "prefill" contract "rms_norm_f32_lanes64_v0" target "cpu" storage {input = "f32", out = "f32", weight = "f32"} dimensions {n = 64, vectors = 1} attributes {} numbers {epsilon = 1.000000e-05 : f64} inputs {input = "x"} weights {weight = @w} section "layer"[2]
  graph.requirement @r8 "blk.3.norm.i8" : "quantize_activation" in "prefill" contract "quantize_activation_i8_b32_v0" target "cpu" storage {input = "f32", out = "i8_b32_sf32"} dimensions {k = 64} attributes {} numbers {} inputs {input = "blk.2.norm"} weights {} section "layer"[3]
  graph.requirement @r9 "heads" : "rms_norm" in "prefill" contract "rms_norm_f32_lanes64_v0" target "cpu" storage {input = "f32", out = "f32", weight = "f32"} dimensions {n = 64, vectors = 2} attributes {} numbers {epsilon = 1.000000e-05 : f64} inputs {input = "x"} weights {weight = @w} section "layer"[3]
  graph.requirement @r10 "heads.i8" : "quantize_activation" in "prefill" contract "quantize_activation_i8_b32_v0" target "cpu" storage {input = "f32", out = "i8_b32_sf32"} dimensions {k = 128} attributes {} numbers {} inputs {input = "heads"} weights {} section "layer"[3]
  graph.requirement @r11 "logits" : "rms_norm" in "prefill" contract "rms_norm_f32_lanes64_v0" target "cpu" storage {input = "f32", out = "f32", weight = "f32"} dimensions {n = 64, vectors = 1} attributes {} numbers {epsilon = 1.000000e-05 : f64} inputs {input = "x"} weights {weight = @w} section "layer"[3]
  graph.requirement @r12 "logits.i8" : "quantize_activation" in "prefill" contract "quantize_activation_i8_b32_v0" target "cpu" storage {input = "f32", out = "i8_b32_sf32"} dimensions {k = 64} attributes {} numbers {} inputs {input = "logits"} weights {} section "layer"[3]
}
