// RUN: writ-opt --convert-lowered-to-call %root/generated/tiny/ir/lowered.mlir -mlir-print-debuginfo | diff - %root/generated/tiny/ir/call.mlir
// RUN: FileCheck %s < %root/generated/tiny/ir/call.mlir
//
// Each argument is bound, in the order of the kernel's map.
// CHECK: call.entry @prefill {
// CHECK: call.kernel @embedding_q8_0_threaded "token_embd" : "embedding" arguments [#call.argument<"weight" : "weight" = @token_embd.weight>, #call.argument<"token" : "input" = #call.rows<"token">>, #call.argument<"out" : "output" = #call.buffer<"rows", {{[0-9]+}}>>, #call.argument<"rows" : "i64" = #call.rows<"count">>, #call.argument<"vocabulary" : "i64" = 320 : i64>, #call.argument<"n" : "i64" = 64 : i64>] extent ["rows"] grain 1 in "prologue"
// CHECK: call.kernel @{{.*}} "blk.0.attn_q" : "linear" {{.*}}#call.argument<"bias" : "weight" = #call.null>
// CHECK: call.kernel @{{.*}} "blk.1.kv_store" : "kv_store" {{.*}}#call.kv<@kv0>{{.*}}#call.kv_layer<1>
// CHECK: call.kernel @{{.*}} "output_norm.i8_b32_sf32" : "rms_norm_quantize" {{.*}}#call.argument<"rows" : "i64" = #call.rows<"outputs">>
// CHECK: call.entry @decode {
