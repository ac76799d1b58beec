//===- SanitizerOptions.cpp - what AddressSanitizer is told ---------------===//
//
// Linked into every program of a build under it. MLIR's libraries are not instrumented: what our
// side of its allocator poisons, theirs does not give free again.
//
//===----------------------------------------------------------------------===//
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
