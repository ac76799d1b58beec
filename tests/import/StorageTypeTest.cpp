//===- StorageTypeTest.cpp - the type-size table --------------------------===//
#include "compiler/Import/ModelFile.h"

#include <gtest/gtest.h>
#include <set>

namespace writ {
namespace {

struct Row {
  uint32_t id;
  const char *name;
  uint32_t elements, bytes;
};

// sizeof of the block structs in ggml-common.h of llama-cpp-python 0.3.36 (ggml 0.25.3), printed by
// a C program; GGML_QUANT_SIZES of the Python package gguf 0.19 agrees but for q8_1 (40, see
// StorageTypes.cpp) and q2_0 (not in it).
constexpr Row oracle[] = {
    {0, "f32", 1, 4},         {1, "f16", 1, 2},         {2, "q4_0", 32, 18},
    {3, "q4_1", 32, 20},      {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},
    {8, "q8_0", 32, 34},      {9, "q8_1", 32, 36},      {10, "q2_k", 256, 84},
    {11, "q3_k", 256, 110},   {12, "q4_k", 256, 144},   {13, "q5_k", 256, 176},
    {14, "q6_k", 256, 210},   {15, "q8_k", 256, 292},   {16, "iq2_xxs", 256, 66},
    {17, "iq2_xs", 256, 74},  {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},
    {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110},  {22, "iq2_s", 256, 82},
    {23, "iq4_xs", 256, 136}, {24, "i8", 1, 1},         {25, "i16", 1, 2},
    {26, "i32", 1, 4},        {27, "i64", 1, 8},        {28, "f64", 1, 8},
    {29, "iq1_m", 256, 56},   {30, "bf16", 1, 2},       {34, "tq1_0", 256, 54},
    {35, "tq2_0", 256, 66},   {39, "mxfp4", 32, 17},    {40, "nvfp4", 64, 36},
    {41, "q1_0", 128, 18},    {42, "q2_0", 64, 18}};

TEST(StorageTypes, F12_EveryTypeHasItsTrueBlockSize) {
  ASSERT_EQ(storageTypes().size(), std::size(oracle));
  for (const Row &row : oracle) {
    const StorageType *type = findStorageType(row.id);
    ASSERT_NE(type, nullptr) << row.name;
    EXPECT_STREQ(type->name, row.name);
    EXPECT_EQ(type->blockElements, row.elements) << row.name;
    EXPECT_EQ(type->blockBytes, row.bytes) << row.name;
    EXPECT_EQ(findStorageType(row.name), type);
  }
}

TEST(StorageTypes, F12_RemovedAndUnknownIdsAreAbsent) {
  for (uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 1000u, noGgufId})
    EXPECT_EQ(findStorageType(id), nullptr) << id;
  EXPECT_EQ(findStorageType("q4_2"), nullptr);
}

TEST(StorageTypes, NamesAndIdsAreUniqueAndInOrder) {
  std::set<std::string_view> names;
  uint32_t last = 0;
  for (const StorageType &type : storageTypes()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_TRUE(type.ggufId == 0 || type.ggufId > last);
    last = type.ggufId;
  }
}

} // namespace
} // namespace writ
