// RUN: not writ-opt --fuse-requirements=data=%root --split-input-file %s -o /dev/null 2>&1 | FileCheck %s

// CHECK: error: requirements are fused before they are resolved, in a module with a graph.model [E205]
module {
}

// -----

// CHECK: has profile 'other', which is not there [E205]
module {
  graph.model "m" circuit "c" profile "other" target "cpu" vocabulary 8 context_length 16 result "logits" production true inputs {}
}
