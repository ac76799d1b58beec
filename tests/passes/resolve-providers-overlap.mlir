// RUN: rm -rf %t && mkdir %t && cp -r %root/contracts %root/kernel_maps %root/circuits %t
// RUN: sed 's/residual_f32\(_threaded\)\{0,1\}"/residual_other\1"/; s/"rows": { "min": 1 }/"rows": { "min": 1, "max": 8 }/' %t/kernel_maps/residual/residual_f32.json > %t/kernel_maps/residual/residual_other.json
// RUN: not writ-opt --resolve-providers=data=%t %s -o /dev/null 2>&1 | FileCheck %s
// RUN: sed -i 's/"rows": { "min": 1 }/"rows": { "min": 9 }/' %t/kernel_maps/residual/residual_f32.json
// RUN: not writ-opt --resolve-providers=data=%t %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=DISJOINT

// C3: two providers. The maps that meet are named, and where; the pass does not choose.
// CHECK: kernel_maps/residual/residual_f32.json:3:9: error: kernels 'residual_f32' and 'residual_other' both provide 'residual' under one contract; exactly one must match [E102]
// CHECK: kernel_maps/residual/residual_f32.json:3:9: note: candidate accepts n in [1, ...), rows in [1, ...)
// CHECK: kernel_maps/residual/residual_other.json:3:9: note: candidate accepts n in [1, ...), rows in [1, 8]
// CHECK: note: both accept n in [1, ...), rows in [1, 8]; make the ranges disjoint

// Where they do not meet, neither takes any number of rows.
// DISJOINT: llama.json:7:9: error: no kernel provides 'residual' for {{.*}} [E101]
// DISJOINT: differs in rows: rows may be any number, it takes only some
module {
  graph.requirement @r0 "sum" : "residual" in "prefill" contract "residual_f32_v0" target "cpu" storage {a = "f32", b = "f32", out = "f32"} dimensions {n = 64} attributes {} numbers {} inputs {a = "x", b = "y"} weights {} section "layer"[0] loc("circuits/llama.json":7:9)
}
