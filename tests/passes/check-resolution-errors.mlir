// RUN: not writ-opt-faults --seed-fault=what=kernel --convert-graph-to-lowered %root/generated/tiny/ir/graph.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not writ-opt-faults --convert-graph-to-lowered --seed-fault=what=contract --convert-lowered-to-call %root/generated/tiny/ir/graph.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=CONTRACT
// RUN: not writ-opt-faults --seed-fault=what=partition %root/generated/tiny/ir/call.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=PARTITION
// RUN: not writ-opt-faults --seed-fault=what=arguments %root/generated/tiny/ir/lowered.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// RUN: not writ-opt-faults --seed-fault=what=map %root/generated/tiny/ir/graph.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=MAP
// RUN: not writ-opt-faults --seed-fault=what=symbol %root/generated/tiny/ir/call.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=SYMBOL
// RUN: not writ-opt-faults --seed-fault=what=order %root/generated/tiny/ir/call.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not writ-opt-faults --seed-fault=what=grain %root/generated/tiny/ir/call.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=GRAIN
// RUN: not writ-opt-faults --seed-fault=what=lost %root/generated/tiny/ir/call.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOST
// RUN: not writ-opt-faults --seed-fault=what=digest %root/generated/tiny/ir/graph.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=DIGEST
// RUN: not writ-opt-faults --check-resolution --seed-fault=what=table %root/generated/tiny/ir/graph.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: sed -e '0,/grain 1 in "prologue"/s//grain 2 in "prologue"/' %root/generated/tiny/ir/call.mlir > %t.mlir
// RUN: not writ-opt --check-resolution %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=TEXT
//
// C4: a later stage that changes a kernel id, a contract id, a partition or an argument order is a
// hard failure, which names the pass and the op's place in the circuit.

// KERNEL: circuits/llama.json:{{[0-9]+}}:{{[0-9]+}}: error: 'graph.embedding' has kernel id 'another', but resolution r0 fixed 'embedding_q8_0'; later stages must keep it [E201]
// KERNEL: note: first changed by 'seed-fault'
// CONTRACT: error: 'lowered.embedding' has contract id 'another', but resolution r0 fixed '{{.*}}'; later stages must keep it [E201]
// CONTRACT: note: first changed by 'seed-fault'
// PARTITION: error: 'call.kernel' has partition 'another', but resolution r0 fixed 'row'; later stages must keep it [E201]
// PARTITION: note: first changed by 'seed-fault'
// ARGUMENTS: error: 'lowered.embedding' has argument order (token, weight, out, rows, vocabulary, n), but resolution r0 fixed (weight, token, out, rows, vocabulary, n); later stages must keep it [E201]
// ARGUMENTS: note: first changed by 'seed-fault'
// MAP: error: 'graph.embedding' has map digest '{{[0-9a-f]+}}', but resolution r0 fixed '{{[0-9a-f]+}}'; later stages must keep it [E201]
// SYMBOL: error: 'call.kernel' has symbol 'another_threaded', but resolution r0 fixed 'embedding_q8_0_threaded'; later stages must keep it [E201]
// SYMBOL: note: first changed by 'seed-fault'
// ORDER: error: 'call.kernel' has argument order (token, weight, out, rows, vocabulary, n), but resolution r0 fixed (weight, token, out, rows, vocabulary, n); later stages must keep it [E201]
// ORDER: note: first changed by 'seed-fault'
// GRAIN: error: 'call.kernel' has grain 2, but resolution r0 fixed 1; later stages must keep it [E201]
// LOST: error: resolution r0 ('token_embd', prefill) is used by 0 ops; it fixed exactly one [E201]
// LOST: note: first changed by 'seed-fault'
// DIGEST: error: 'graph.resolutions' op has digest {{[0-9a-f]+}}, but it was sealed as {{[0-9a-f]+}}; later stages must keep it [E201]
// TABLE: error: 'graph.resolutions' op has digest {{[0-9a-f]+}}, but resolve-providers fixed {{[0-9a-f]+}}; later stages must keep it [E201]
// TABLE: note: first changed by 'seed-fault'
// TEXT: error: 'call.kernel' has grain 2, but resolution r0 fixed 1; later stages must keep it [E201]
// TEXT: note: the module came to this check so
module {
}
