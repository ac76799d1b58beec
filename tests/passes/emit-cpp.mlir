// RUN: rm -rf %t && mkdir -p %t/alone && cp %root/generated/tiny/ir/call.mlir %t/alone/
// RUN: cd %t/alone && writ-opt --emit-cpp call.mlir -o out
// RUN: diff -r %t/alone/out/src %root/generated/tiny/src
// RUN: cmp %t/alone/out/CMakeLists.txt %root/generated/tiny/CMakeLists.txt
//
// C9: from the CallIR text alone, in an empty folder, the same bytes.
module {
}
