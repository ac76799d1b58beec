// RUN: not writ-opt --convert-graph-to-lowered %s -o /dev/null 2>&1 | FileCheck %s
// RUN: sed -e 's/"q8_0" \[320, 64\] layout "panel16_k4"/"q8_0" [320, 64] layout "panel16"/' %root/generated/tiny/ir/graph.mlir > %t.mlir
// RUN: not writ-opt --convert-graph-to-lowered %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=LAYOUT

// CHECK: error: the module has no graph.entry; run convert-requirements-to-graph first [E205]
// LAYOUT: error: 'graph.weight' op is "q8_0" of [320, 64], which cannot lie in layout 'panel16' [E207]
module {
}
