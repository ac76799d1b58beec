//===- StorageTypes.cpp - the storage types of model files ----------------===//
//
// Sizes are those of ggml's own block structs. (The Python package gguf 0.19 says 40 bytes for
// Q8_1, which was its size while its two scales were binary32; it has been 36 since they are
// binary16.)
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/ModelFile.h"

namespace writ {

static constexpr StorageType ggufTypes[] = {
    // name, id, elements of a block, bytes of a block
    {"f32", 0, 1, 4},         {"f16", 1, 1, 2},         {"q4_0", 2, 32, 18},
    {"q4_1", 3, 32, 20},      {"q5_0", 6, 32, 22},      {"q5_1", 7, 32, 24},
    {"q8_0", 8, 32, 34},      {"q8_1", 9, 32, 36},      {"q2_k", 10, 256, 84},
    {"q3_k", 11, 256, 110},   {"q4_k", 12, 256, 144},   {"q5_k", 13, 256, 176},
    {"q6_k", 14, 256, 210},   {"q8_k", 15, 256, 292},   {"iq2_xxs", 16, 256, 66},
    {"iq2_xs", 17, 256, 74},  {"iq3_xxs", 18, 256, 98}, {"iq1_s", 19, 256, 50},
    {"iq4_nl", 20, 32, 18},   {"iq3_s", 21, 256, 110},  {"iq2_s", 22, 256, 82},
    {"iq4_xs", 23, 256, 136}, {"i8", 24, 1, 1},         {"i16", 25, 1, 2},
    {"i32", 26, 1, 4},        {"i64", 27, 1, 8},        {"f64", 28, 1, 8},
    {"iq1_m", 29, 256, 56},   {"bf16", 30, 1, 2},       {"tq1_0", 34, 256, 54},
    {"tq2_0", 35, 256, 66},   {"mxfp4", 39, 32, 17},    {"nvfp4", 40, 64, 36},
    {"q1_0", 41, 128, 18},    {"q2_0", 42, 64, 18},
};

/// What safetensors has beside f16, bf16, f32, f64, i8, i16, i32 and i64.
static constexpr StorageType safetensorsTypes[] = {
    {"bool", noGgufId, 1, 1},    {"u8", noGgufId, 1, 1},      {"u16", noGgufId, 1, 2},
    {"u32", noGgufId, 1, 4},     {"u64", noGgufId, 1, 8},     {"f8_e4m3", noGgufId, 1, 1},
    {"f8_e5m2", noGgufId, 1, 1}, {"f8_e8m0", noGgufId, 1, 1}, {"c64", noGgufId, 1, 8},
};

std::span<const StorageType> storageTypes() {
  return ggufTypes;
}

const StorageType *findStorageType(std::string_view name) {
  for (const StorageType &type : ggufTypes)
    if (name == type.name)
      return &type;
  for (const StorageType &type : safetensorsTypes)
    if (name == type.name)
      return &type;
  return nullptr;
}

const StorageType *findStorageType(uint32_t ggufId) {
  for (const StorageType &type : ggufTypes)
    if (ggufId == type.ggufId)
      return &type;
  return nullptr;
}

} // namespace writ
