// C4: a later stage that changes a kernel id, a contract id, a partition or an argument order is a
// hard failure, which names the pass and the op's place in the circuit. So is one that changes any
// other field of a decision: each is changed below, one at a time.
//
// DEFINE: %{tiny} = %root/generated/tiny/ir
// DEFINE: %{to} = -o /dev/null 2>&1 | FileCheck %s --check-prefix
//
// In GraphIR, each field of `resolved_execution`; in the later stages, those that the obligation names.
// RUN: not writ-opt-faults --seed-fault=what=provider --convert-graph-to-lowered %{tiny}/graph.mlir %{to}=PROVIDER
// RUN: not writ-opt-faults --convert-graph-to-lowered --seed-fault=what=contract --convert-lowered-to-call %{tiny}/graph.mlir %{to}=CONTRACT
// RUN: not writ-opt-faults --seed-fault=what=partition %{tiny}/call.mlir %{to}=PARTITION
// RUN: not writ-opt-faults --seed-fault=what=arguments %{tiny}/lowered.mlir %{to}=ARGUMENTS
// RUN: not writ-opt-faults --seed-fault=what=argument-type %{tiny}/graph.mlir %{to}=ARGUMENT_TYPE
// RUN: not writ-opt-faults --seed-fault=what=contract_sha256 %{tiny}/graph.mlir %{to}=CONTRACT_SHA256
// RUN: not writ-opt-faults --seed-fault=what=map_sha256 %{tiny}/graph.mlir %{to}=MAP_SHA256
// RUN: not writ-opt-faults --seed-fault=what=contract_oracle %{tiny}/graph.mlir %{to}=ORACLE
// RUN: not writ-opt-faults --seed-fault=what=production %{tiny}/graph.mlir %{to}=PRODUCTION
// RUN: not writ-opt-faults --seed-fault=what=threaded %{tiny}/graph.mlir %{to}=THREADED
// RUN: not writ-opt-faults --seed-fault=what=extent %{tiny}/graph.mlir %{to}=EXTENT
// RUN: not writ-opt-faults --seed-fault=what=grain %{tiny}/graph.mlir %{to}=GRAIN
// RUN: not writ-opt-faults --seed-fault=what=scheduling_alters_order %{tiny}/graph.mlir %{to}=ORDER_POLICY
// RUN: not writ-opt-faults --seed-fault=what=isa %{tiny}/graph.mlir %{to}=ISA
// RUN: not writ-opt-faults --seed-fault=what=layouts %{tiny}/graph.mlir %{to}=LAYOUTS
//
// What a call says beside its execution.
// RUN: not writ-opt-faults --seed-fault=what=call-symbol %{tiny}/call.mlir %{to}=CALL_SYMBOL
// RUN: not writ-opt-faults --seed-fault=what=call-arguments %{tiny}/call.mlir %{to}=CALL_ARGUMENTS
// RUN: not writ-opt-faults --seed-fault=what=call-argument-type %{tiny}/call.mlir %{to}=CALL_ARGUMENT_TYPE
// RUN: not writ-opt-faults --seed-fault=what=call-extent %{tiny}/call.mlir %{to}=CALL_EXTENT
// RUN: not writ-opt-faults --seed-fault=what=call-grain %{tiny}/call.mlir %{to}=CALL_GRAIN
//
// The table, and a module that came from a file.
// RUN: not writ-opt-faults --seed-fault=what=lost %{tiny}/call.mlir %{to}=LOST
// RUN: not writ-opt-faults --seed-fault=what=digest %{tiny}/graph.mlir %{to}=DIGEST
// RUN: not writ-opt-faults --check-resolution --seed-fault=what=table %{tiny}/graph.mlir %{to}=TABLE
// RUN: sed -e '0,/grain 1 in "prologue"/s//grain 2 in "prologue"/' %{tiny}/call.mlir > %t.mlir
// RUN: not writ-opt --check-resolution %t.mlir %{to}=TEXT

// PROVIDER: circuits/llama.json:{{[0-9]+}}:{{[0-9]+}}: error: 'graph.embedding' has kernel id 'another', but resolution r0 fixed 'embedding_q8_0'; later stages must keep it [E201]
// PROVIDER: note: first changed by 'seed-fault'
// CONTRACT: error: 'lowered.embedding' has contract id 'another', but resolution r0 fixed '{{.*}}'; later stages must keep it [E201]
// CONTRACT: note: first changed by 'seed-fault'
// PARTITION: error: 'call.kernel' has partition 'another', but resolution r0 fixed 'row'; later stages must keep it [E201]
// PARTITION: note: first changed by 'seed-fault'
// ARGUMENTS: error: 'lowered.embedding' has argument order (token, weight, out, rows, vocabulary, n), but resolution r0 fixed (weight, token, out, rows, vocabulary, n); later stages must keep it [E201]
// ARGUMENTS: note: first changed by 'seed-fault'
// ARGUMENT_TYPE: error: 'graph.embedding' has argument list [{{.*}}#graph.argument<"n", "f32", "dim:n">], but resolution r0 fixed [{{.*}}#graph.argument<"n", "i64", "dim:n">]; later stages must keep it [E201]
// CONTRACT_SHA256: error: 'graph.embedding' has contract digest '{{0+}}', but resolution r0 fixed '{{[0-9a-f]+}}'; later stages must keep it [E201]
// MAP_SHA256: error: 'graph.embedding' has map digest '{{0+}}', but resolution r0 fixed '{{[0-9a-f]+}}'; later stages must keep it [E201]
// ORACLE: error: 'graph.embedding' has contract oracle 'another', but resolution r0 fixed 'reference_embedding'; later stages must keep it [E201]
// PRODUCTION: error: 'graph.embedding' has production function 'another', but resolution r0 fixed 'embedding_q8_0'; later stages must keep it [E201]
// THREADED: error: 'graph.embedding' has threaded function 'another', but resolution r0 fixed 'embedding_q8_0_threaded'; later stages must keep it [E201]
// EXTENT: error: 'graph.embedding' has extent ["n"], but resolution r0 fixed ["rows"]; later stages must keep it [E201]
// GRAIN: error: 'graph.embedding' has grain 2, but resolution r0 fixed 1; later stages must keep it [E201]
// ORDER_POLICY: error: 'graph.embedding' has order policy true, but resolution r0 fixed false; later stages must keep it [E201]
// ISA: error: 'graph.embedding' has isa ["another"], but resolution r0 fixed ["scalar", "avx2", "avx512", "neon"]; later stages must keep it [E201]
// LAYOUTS: error: 'graph.embedding' has layouts {weight = "another"}, but resolution r0 fixed {weight = "panel16_k4"}; later stages must keep it [E201]

// CALL_SYMBOL: error: 'call.kernel' has symbol 'another_threaded', but resolution r0 fixed 'embedding_q8_0_threaded'; later stages must keep it [E201]
// CALL_SYMBOL: note: first changed by 'seed-fault'
// CALL_ARGUMENTS: error: 'call.kernel' has argument order (token, weight, out, rows, vocabulary, n), but resolution r0 fixed (weight, token, out, rows, vocabulary, n); later stages must keep it [E201]
// CALL_ARGUMENTS: note: first changed by 'seed-fault'
// CALL_ARGUMENT_TYPE: error: 'call.kernel' has argument type input, but resolution r0 fixed output; later stages must keep it [E201]
// CALL_EXTENT: error: 'call.kernel' has extent ["n"], but resolution r0 fixed ["rows"]; later stages must keep it [E201]
// CALL_GRAIN: error: 'call.kernel' has grain 2, but resolution r0 fixed 1; later stages must keep it [E201]

// LOST: error: resolution r0 ('token_embd', prefill) is used by 0 ops; it fixed exactly one [E201]
// LOST: note: first changed by 'seed-fault'
// DIGEST: error: 'graph.resolutions' op has digest {{[0-9a-f]+}}, but it was sealed as {{[0-9a-f]+}}; later stages must keep it [E201]
// TABLE: error: 'graph.resolutions' op has digest {{[0-9a-f]+}}, but resolve-providers fixed {{[0-9a-f]+}}; later stages must keep it [E201]
// TABLE: note: first changed by 'seed-fault'
// TEXT: error: 'call.kernel' has grain 2, but resolution r0 fixed 1; later stages must keep it [E201]
// TEXT: note: the module came to this check so
module {
}
