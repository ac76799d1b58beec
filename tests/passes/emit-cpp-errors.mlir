// RUN: not writ-opt --emit-cpp %s 2>&1 | FileCheck %s
// RUN: not writ-opt --emit-cpp %root/generated/tiny/ir/lowered.mlir 2>&1 | FileCheck %s --check-prefix=STAGE
//
// CHECK: error: the module has no graph.model; only CallIR can be emitted [E204]
// STAGE: error: the module has no call.entry for prefill and decode; only CallIR can be emitted [E204]
module {
}
