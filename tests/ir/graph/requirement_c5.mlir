// RUN: not writ-opt %s -o /dev/null 2>&1 | FileCheck %s
//
// graph.requirement C5: A KV group and its layer are named together.
// CHECK: error: 'graph.requirement' op names a KV group and a layer of it together

module {
  graph.kv_group @kv0 0 !graph.kv<"f16", layers = 2, kv_heads = 1, head_dim = 32, window = 0>
  graph.weight @we tensor "we" "f32" [8, 32] layout "plain"
  graph.requirement @r0 "y" : "linear" in "prefill" contract "c_v0" target "cpu" storage {activation = "f32", weight = "f32"} dimensions {k = 32, n = 8} attributes {} numbers {} inputs {activation = "x"} weights {weight = @we} section "epilogue" {kv_layer = 0 : i64}
}
