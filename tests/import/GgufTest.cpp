//===- GgufTest.cpp - what a good GGUF file gives -------------------------===//
#include "tests/import/GgufBuilder.h"
#include "tests/support/Expect.h"

#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"

#include <filesystem>
#include <limits>

namespace writ {
namespace {

using test::bytesOf;
using test::GgufBuilder;

TEST(Gguf, F12_EveryScalarTypeIsRead) {
  GgufBuilder builder;
  builder.add("u8", uint8_t{255}).add("i8", int8_t{-128});
  builder.add("u16", uint16_t{65535}).add("i16", int16_t{-32768});
  builder.add("u32", uint32_t{4294967295}).add("i32", std::numeric_limits<int32_t>::min());
  builder.add("u64", UINT64_MAX).add("i64", INT64_MIN);
  builder.add("f32", 0.1f).add("f64", 0.1).add("yes", true).add("no", false).add("s", "é\n");
  std::string file = builder.build();
  auto model = openModelBytes(bytesOf(file), "m.gguf");
  EXPECT_EQ(model->format(), "gguf-v3");
  EXPECT_EQ(model->path(), "m.gguf");
  ASSERT_EQ(model->metadata().size(), 13u);
  EXPECT_EQ(model->find("u8")->asInteger(), 255);
  EXPECT_EQ(model->find("i8")->asInteger(), -128);
  EXPECT_EQ(model->find("u16")->asInteger(), 65535);
  EXPECT_EQ(model->find("i16")->asInteger(), -32768);
  EXPECT_EQ(model->find("u32")->asInteger(), 4294967295);
  EXPECT_EQ(model->find("i32")->asInteger(), INT32_MIN);
  EXPECT_EQ(model->find("u64")->asInteger(), std::nullopt) << "does not fit";
  EXPECT_EQ(std::get<uint64_t>(model->find("u64")->value), UINT64_MAX);
  EXPECT_EQ(model->find("i64")->asInteger(), INT64_MIN);
  EXPECT_EQ(model->find("f32")->asNumber(), static_cast<double>(0.1f));
  EXPECT_EQ(model->find("f64")->asNumber(), 0.1);
  EXPECT_EQ(model->find("u8")->asNumber(), 255.0);
  EXPECT_EQ(model->find("yes")->asBool(), true);
  EXPECT_EQ(model->find("no")->asBool(), false);
  EXPECT_EQ(*model->find("s")->asString(), "é\n");
  EXPECT_EQ(model->find("s")->type, "string");
  EXPECT_EQ(model->find("u16")->type, "u16");
  EXPECT_EQ(model->find("i64")->offset, builder.place("metadata_kv[7].value"));
  EXPECT_EQ(model->find("absent"), nullptr);
  // No accessor converts between kinds.
  EXPECT_EQ(model->find("f32")->asInteger(), std::nullopt);
  EXPECT_EQ(model->find("s")->asNumber(), std::nullopt);
  EXPECT_EQ(model->find("u8")->asString(), nullptr);
  EXPECT_EQ(model->find("u8")->asBool(), std::nullopt);
}

TEST(Gguf, F12_EveryArrayTypeIsRead) {
  GgufBuilder builder;
  builder.add("u8", std::vector<uint8_t>{1, 2}).add("i16", std::vector<int16_t>{-1, 2});
  builder.add("u64", std::vector<uint64_t>{UINT64_MAX}).add("i32", std::vector<int32_t>{-7});
  builder.add("f32", std::vector<float>{0.5f, -1}).add("f64", std::vector<double>{0.1});
  builder.add("bool", std::vector<bool>{true, false, true});
  builder.add("string", std::vector<std::string>{"", "a", "bc"});
  builder.add("empty", std::vector<std::string>{});
  std::string file = builder.build();
  auto model = openModelBytes(bytesOf(file), "m.gguf");
  EXPECT_EQ(model->find("u8")->type, "array<u8>");
  EXPECT_EQ(model->find("u8")->asIntegers(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(model->find("i16")->asIntegers(), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(model->find("u64")->asIntegers(), std::nullopt) << "does not fit";
  EXPECT_EQ(model->find("i32")->asNumbers(), (std::vector<double>{-7}));
  EXPECT_EQ(model->find("f32")->asNumbers(), (std::vector<double>{0.5, -1}));
  EXPECT_EQ(model->find("f64")->asNumbers(), (std::vector<double>{0.1}));
  EXPECT_EQ(model->find("f32")->asIntegers(), std::nullopt);
  const auto &array = std::get<MetadataValue::Array>(model->find("bool")->value);
  EXPECT_EQ(std::get<std::vector<bool>>(array), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(*model->find("string")->asStrings(), (std::vector<std::string>{"", "a", "bc"}));
  EXPECT_TRUE(model->find("empty")->asStrings()->empty());
}

TEST(Gguf, F12_TensorsHaveShapeOutermostFirstAndTheirBytes) {
  std::string first(8 * 34, 'a'), second(3 * 4, 'b');
  GgufBuilder builder;
  builder.tensor("w", "q8_0", {4, 64}, first).tensor("n", "f32", {3}, second);
  std::string file = builder.build();
  auto model = openModelBytes(bytesOf(file), "m.gguf");
  ASSERT_EQ(model->tensors().size(), 2u);
  const TensorInfo *w = model->findTensor("w"), *n = model->findTensor("n");
  ASSERT_TRUE(w && n);
  EXPECT_EQ(w, &model->tensors()[0]);
  EXPECT_EQ(w->shape, (std::vector<int64_t>{4, 64}));
  EXPECT_EQ(w->storage, findStorageType("q8_0"));
  EXPECT_EQ(w->bytes, first.size());
  EXPECT_EQ(w->fileOffset, builder.place("data"));
  EXPECT_EQ(n->fileOffset % 32, 0u);
  std::span<const std::byte> bytes = model->bytes(*n);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()), second);
  EXPECT_EQ(bytes.data(), bytesOf(file).data() + n->fileOffset) << "no copy";
  EXPECT_EQ(model->findTensor("x"), nullptr);
  EXPECT_EQ(model->sha256(), sha256(file));
}

TEST(Gguf, F12_EveryStorageTypeIsReadByItsTrueSize) {
  GgufBuilder builder;
  for (const StorageType &type : storageTypes())
    builder.tensor(type.name, type.name, {2, 3, type.blockElements});
  std::string file = builder.build();
  auto model = openModelBytes(bytesOf(file), "m.gguf");
  for (const StorageType &type : storageTypes())
    EXPECT_EQ(model->findTensor(type.name)->bytes, 6u * type.blockBytes) << type.name;
}

TEST(Gguf, F12_Version2IsRead) {
  GgufBuilder builder(2);
  builder.add("a", uint32_t{1}).tensor("t", "f16", {2});
  std::string file = builder.build();
  EXPECT_EQ(openModelBytes(bytesOf(file), "m.gguf")->format(), "gguf-v2");
}

TEST(Gguf, F12_TheAlignmentIsTheFiles) {
  for (uint32_t alignment : {8u, 64u, 1u << 20}) {
    GgufBuilder builder;
    builder.align(alignment).add("general.alignment", alignment);
    builder.tensor("a", "i8", {5}, "12345").tensor("b", "i8", {3}, "678");
    std::string file = builder.build();
    auto model = openModelBytes(bytesOf(file), "m.gguf");
    const TensorInfo &b = model->tensors()[1];
    EXPECT_EQ(b.fileOffset, model->tensors()[0].fileOffset + alignment);
    EXPECT_EQ(static_cast<char>(model->bytes(b)[0]), '6');
  }
}

TEST(Gguf, F12_AFileWithoutTensorsNeedsNoPadding) {
  GgufBuilder builder;
  builder.add("tokenizer.ggml.model", "gpt2");
  std::string file = builder.build();
  EXPECT_TRUE(openModelBytes(bytesOf(file), "m.gguf")->tensors().empty());
  std::string nothing = GgufBuilder().build();
  EXPECT_TRUE(openModelBytes(bytesOf(nothing), "m.gguf")->metadata().empty());
}

TEST(Gguf, F12_TensorsMayLieInAnyOrder) {
  GgufBuilder builder;
  builder.tensor("a", "i8", {4}, "aaaa").tensor("b", "i8", {4}, "bbbb");
  std::string file = builder.build();
  builder.patch<uint64_t>(file, "tensor_infos[0].offset", 32);
  builder.patch<uint64_t>(file, "tensor_infos[1].offset", 0);
  auto model = openModelBytes(bytesOf(file), "m.gguf");
  EXPECT_EQ(static_cast<char>(model->bytes(*model->findTensor("a"))[0]), 'b');
}

TEST(Gguf, F12_AFileIsMapped) {
  GgufBuilder builder;
  builder.add("a", uint32_t{1}).tensor("t", "f32", {2}, "12345678");
  std::string path = testing::TempDir() + "mapped.gguf";
  writeFileAtomically(path, builder.build());
  auto model = openModelFile(path);
  std::filesystem::remove(path); // the mapping outlives the name
  EXPECT_EQ(static_cast<char>(model->bytes(model->tensors()[0])[7]), '8');
  EXPECT_EQ(model->path(), path);
}

} // namespace
} // namespace writ
