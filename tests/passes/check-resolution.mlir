// RUN: writ-opt --check-resolution %root/generated/tiny/ir/graph.mlir -o /dev/null
// RUN: writ-opt --check-resolution %root/generated/tiny/ir/lowered.mlir -o /dev/null
// RUN: writ-opt --check-resolution %root/generated/tiny/ir/call.mlir -mlir-print-debuginfo | diff - %root/generated/tiny/ir/call.mlir
//
// A check accepts what is right, and never mutates.
module {
}
