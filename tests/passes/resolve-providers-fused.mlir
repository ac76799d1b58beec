// RUN: not writ-opt --resolve-providers=data=%root %s -o /dev/null 2>&1 | FileCheck %s

// C3: a fusion that is on and that no kernel provides is refused; it is never undone.
// CHECK: llama.json:7:9: error: no kernel provides 'gate_quantize' for {gate=f32, up=f32, out=i8_b32_sf32, activation=relu, n=64, contract=relu_gate_f32_v0+quantize_activation_i8_b32_v0, target=cpu} (op 'act.i8', prefill) [E101]
// CHECK: note: nearest provider 'gelu_tanh_gate_f32_quantize_i8_b32' differs in activation, contract: activation is relu, it takes gelu_tanh, keeps gelu_tanh_gate_f32_v0+quantize_activation_i8_b32_v0
// CHECK: note: add a provider or change the circuit; there is no fallback
module {
  graph.requirement @r0 "act.i8" : "gate_quantize" in "prefill" contract "relu_gate_f32_v0+quantize_activation_i8_b32_v0" target "cpu" storage {gate = "f32", out = "i8_b32_sf32", up = "f32"} dimensions {n = 64} attributes {activation = "relu"} numbers {} inputs {gate = "x", up = "y"} weights {} section "layer"[0] parts ["act", "act.i8"] loc("circuits/llama.json":7:9)
}
