// RUN: not writ-opt --resolve-providers=data=%root --split-input-file %s -o /dev/null 2>&1 | FileCheck %s

// C3: no provider. The position is the op's in the circuit; the layers of a model fail once.
// CHECK: llama.json:7:9: error: no kernel provides 'residual' for {a=f16, b=f32, out=f32, n=64, {{.*}}target=cpu}{{.*}} [E101]
// CHECK: note: nearest provider 'residual_f32' differs in a: a is f16, it takes f32
// CHECK: note: add a provider or change the circuit; there is no fallback
// CHECK-NOT: no kernel provides 'residual'
module {
  graph.requirement @r0 "blk.0.sum" : "residual" in "prefill" contract "residual_f32_v0" target "cpu" storage {a = "f16", b = "f32", out = "f32"} dimensions {n = 64} attributes {} numbers {} inputs {a = "x", b = "y"} weights {} section "layer"[0] loc("circuits/llama.json":7:9)
  graph.requirement @r1 "blk.1.sum" : "residual" in "prefill" contract "residual_f32_v0" target "cpu" storage {a = "f16", b = "f32", out = "f32"} dimensions {n = 64} attributes {} numbers {} inputs {a = "x", b = "y"} weights {} section "layer"[1] loc("circuits/llama.json":7:9)
}

// -----

// CHECK: error: the module is resolved already; a decision cannot change [E201]
module {
  graph.resolutions @resolutions sha256 "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945" {
  }
}
