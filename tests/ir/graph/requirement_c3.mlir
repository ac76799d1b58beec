// RUN: not writ-opt %s -o /dev/null 2>&1 | FileCheck %s
//
// graph.requirement C3: Dimensions are positive i64.
// CHECK: error: 'graph.requirement' op dimension 'k' is 0 : i64; a dimension is a positive i64

module {
  graph.kv_group @kv0 0 !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>
  graph.weight @we tensor "we" "f32" [8, 32] layout "plain"
  graph.requirement @r0 "y" : "linear" in "prefill" contract "c_v0" target "cpu" storage {activation = "f32", weight = "f32"} dimensions {k = 0, n = 8} attributes {} numbers {} inputs {activation = "x"} weights {weight = @we} section "epilogue"
}
