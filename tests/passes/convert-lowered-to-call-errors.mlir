// RUN: not writ-opt --convert-lowered-to-call %s -o /dev/null 2>&1 | FileCheck %s
// RUN: sed -e 's/"operand:up"/"operand:down"/' %root/generated/tiny/ir/lowered.mlir > %t.mlir
// RUN: not writ-opt --convert-lowered-to-call %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=BIND
// RUN: sed -e 's/numbers {epsilon = 9.9999[0-9]*E-6 : f64}/numbers {epsilon = 1.0E-5 : f64}/' %root/generated/tiny/ir/lowered.mlir > %t.mlir
// RUN: not writ-opt --convert-lowered-to-call %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXACT
// RUN: sed -e 's/"kv.layer"/"kv.window"/' %root/generated/tiny/ir/lowered.mlir > %t.mlir
// RUN: not writ-opt --convert-lowered-to-call %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=WINDOW

// CHECK: error: the module has no lowered.entry; run convert-graph-to-lowered first [E205]
// BIND: llama.json:{{[0-9]+}}:{{[0-9]+}}: error: 'lowered.gate_quantize' cannot bind argument 'up' (input) to 'operand:down' [E206]
// A number that the argument's type cannot hold exactly is refused.
// EXACT: error: 'lowered.rms_norm_quantize' cannot bind argument 'epsilon' (f32) to 'attr:epsilon' [E206]
// Queries that see everything have no window to give.
// WINDOW: error: 'lowered.kv_store' cannot bind argument 'layer' (i64) to 'kv.window' [E206]
module {
}
