// RUN: not writ-opt --convert-requirements-to-graph --split-input-file %s -o /dev/null 2>&1 | FileCheck %s

// CHECK: error: the module has no graph.model or no graph.resolutions; run resolve-providers first [E205]
module {
}

// -----

#k = #graph.execution<contract = "c_v0", contract_sha256 = "0000000000000000000000000000000000000000000000000000000000000000", provider = "k", map_sha256 = "0000000000000000000000000000000000000000000000000000000000000000", contract_oracle = "reference_k", production = "k", threaded = "k_threaded", partition = "row", extent = [], grain = 1, scheduling_alters_order = false, isa = ["scalar"], layouts = {}, arguments = []>
// CHECK: circuit.json:3:5: error: 'graph.requirement' op has family 'mamba', which GraphIR has no op for [E205]
module {
  graph.model "m" circuit "c" profile "p" target "cpu" vocabulary 8 context_length 16 result "y" production true inputs {}
  graph.requirement @r0 "y" : "mamba" in "prefill" contract "c_v0" target "cpu" storage {out = "f32"} dimensions {n = 8} attributes {} numbers {} inputs {} weights {} section "layer" loc("circuit.json":3:5)
  graph.resolutions @resolutions sha256 "" {
    graph.resolution @r0 "y" : "mamba" in "prefill" is #k
  }
}

// -----

#k = #graph.execution<contract = "c_v0", contract_sha256 = "0000000000000000000000000000000000000000000000000000000000000000", provider = "k", map_sha256 = "0000000000000000000000000000000000000000000000000000000000000000", contract_oracle = "reference_k", production = "k", threaded = "k_threaded", partition = "row", extent = [], grain = 1, scheduling_alters_order = false, isa = ["scalar"], layouts = {}, arguments = []>
// CHECK: error: 'graph.requirement' op reads "x" in prefill, but no requirement before it makes that [E205]
module {
  graph.model "m" circuit "c" profile "p" target "cpu" vocabulary 8 context_length 16 result "y" production true inputs {}
  graph.requirement @r0 "y" : "residual" in "prefill" contract "c_v0" target "cpu" storage {a = "f32", b = "f32", out = "f32"} dimensions {n = 8} attributes {} numbers {} inputs {a = "x", b = "x"} weights {} section "layer"
  graph.resolutions @resolutions sha256 "" {
    graph.resolution @r0 "y" : "residual" in "prefill" is #k
  }
}

// -----

// CHECK: error: 'graph.requirement' op has no resolution; run resolve-providers first [E205]
module {
  graph.model "m" circuit "c" profile "p" target "cpu" vocabulary 8 context_length 16 result "y" production true inputs {}
  graph.requirement @r0 "y" : "residual" in "prefill" contract "c_v0" target "cpu" storage {a = "f32", b = "f32", out = "f32"} dimensions {n = 8} attributes {} numbers {} inputs {a = "x", b = "x"} weights {} section "layer"
  graph.resolutions @resolutions sha256 "" {
  }
}

// -----

#k = #graph.execution<contract = "c_v0", contract_sha256 = "0000000000000000000000000000000000000000000000000000000000000000", provider = "k", map_sha256 = "0000000000000000000000000000000000000000000000000000000000000000", contract_oracle = "reference_k", production = "k", threaded = "k_threaded", partition = "row", extent = [], grain = 1, scheduling_alters_order = false, isa = ["scalar"], layouts = {}, arguments = []>
// CHECK: error: 'graph.requirement' op gives no 'scale', which its family needs [E205]
module {
  graph.model "m" circuit "c" profile "p" target "cpu" vocabulary 8 context_length 16 result "y" production true inputs {}
  graph.weight @w tensor "w" "f32" [8, 8]
  graph.requirement @r0 "y" : "embedding" in "prefill" contract "c_v0" target "cpu" storage {weight = "f32", out = "f32"} dimensions {n = 8, vocabulary = 8} attributes {} numbers {} inputs {} weights {} section "layer"
  graph.resolutions @resolutions sha256 "" {
    graph.resolution @r0 "y" : "embedding" in "prefill" is #k
  }
}
