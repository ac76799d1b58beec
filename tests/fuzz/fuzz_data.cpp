//===- fuzz_data.cpp - any text as a file of the data folders -------------===//
//
// The first byte chooses one of the files below, the rest is its contents: they go through its
// reader and, where that accepts them, through all that is built on it.
//
//===----------------------------------------------------------------------===//
#include "tests/mutation/DataReaders.h"

using writ::test::DataKind;

namespace {

struct Target {
  DataKind kind;
  const char *file;
};
// scripts/fuzz makes its seeds from this list, in this order.
constexpr Target targets[] = {
    {DataKind::contract, "contracts/linear/linear_q4_1_i8_b32_v0.json"},
    {DataKind::contract, "contracts/attention/attention_f16_kv_tiles32_chunks256_v0.json"},
    {DataKind::profile, "contracts/profiles/portable.json"},
    {DataKind::map, "kernel_maps/linear/linear_q4_1_i8_b32.json"},
    {DataKind::map, "kernel_maps/attention/attention_f16_tiles32_chunks256.json"},
    {DataKind::circuit, "circuits/llama.json"},
    {DataKind::circuit, "circuits/gemma3.json"},
    {DataKind::vocabulary, "contracts/vocabulary.json"},
    {DataKind::invariance, "contracts/invariance.json"},
    {DataKind::chat, "circuits/chat/chatml_smollm2.json"},
    {DataKind::functions, "contracts/functions.json"},
    {DataKind::schema, "contracts/schema/evidence.json"},
    {DataKind::schema, "kernel_maps/schema/kernel_map.json"},
    {DataKind::evidence, "contracts/evidence/circuit/llama.json"},
};

writ::test::DataReaders &readers() {
  static writ::test::DataReaders made;
  return made;
}

} // namespace

/// What is made once takes longer than one input may.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  readers().read(targets[0].kind, targets[0].file, readers().good(targets[0].file));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const Target &target = targets[data[0] % std::size(targets)];
  const std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
  if (!readers().read(target.kind, target.file, text).isPlaced)
    std::abort();
  return 0;
}
