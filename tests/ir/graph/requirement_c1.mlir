// RUN: not writ-opt %s -o /dev/null 2>&1 | FileCheck %s
//
// graph.requirement C1: The phase is prefill, decode or sample.
// CHECK: error: 'graph.requirement' op has phase 'train'; phases are prefill, decode, sample

module {
  graph.kv_group @kv0 0 !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>
  graph.weight @we tensor "we" "f32" [8, 32] layout "plain"
  graph.requirement @r0 "y" : "linear" in "train" contract "c_v0" target "cpu" storage {activation = "f32", weight = "f32"} dimensions {k = 32, n = 8} attributes {} numbers {} inputs {activation = "x"} weights {weight = @we} section "epilogue"
}
