//===- SafetensorsTest.cpp - reading and writing safetensors --------------===//
#include "tests/import/GgufBuilder.h"
#include "tests/support/Expect.h"

#include "compiler/Import/SafetensorsWriter.h"
#include "compiler/Support/FileIO.h"

#include <filesystem>

namespace writ {
namespace {

using test::bytesOf;

std::string fileOf(const std::string &header, const std::string &data = {}) {
  return test::GgufBuilder::raw(uint64_t{header.size()}) + header + data;
}

std::unique_ptr<ModelFile> open(const std::string &file) {
  return openModelBytes(bytesOf(file), "m.safetensors");
}

constexpr const char *entry = R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})";

/// One tensor of two bytes with a field replaced.
std::string oneTensor(const std::string &dtype, const std::string &shape,
                      const std::string &offsets, const std::string &data = "ab") {
  return fileOf("{\"t\":{\"dtype\":" + dtype + ",\"shape\":" + shape +
                    ",\"data_offsets\":" + offsets + "}}",
                data);
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

TEST(Safetensors, F12_TensorsAndMetadataAreRead) {
  // Listed out of order; with white space, an empty tensor and a scalar.
  std::string file =
      fileOf("{\"b\": {\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[2,10]},\n"
             "\"__metadata__\": {\"format\": \"pt\", \"é\": \"\"},\n"
             "\"a\": {\"data_offsets\":[0,2],\"shape\":[],\"dtype\":\"BF16\"},"
             "\"none\": {\"dtype\":\"I64\",\"shape\":[3,0],\"data_offsets\":[10,10]}}   ",
             "aabbbbbbbb");
  auto model = open(file);
  EXPECT_EQ(model->format(), "safetensors");
  ASSERT_EQ(model->tensors().size(), 3u);
  EXPECT_EQ(model->tensors()[0].name, "a");
  EXPECT_STREQ(model->tensors()[0].storage->name, "bf16");
  EXPECT_TRUE(model->tensors()[0].shape.empty());
  const TensorInfo *b = model->findTensor("b");
  EXPECT_EQ(b->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(text(model->bytes(*b)), "bbbbbbbb");
  EXPECT_EQ(model->findTensor("none")->bytes, 0u);
  EXPECT_EQ(*model->find("format")->asString(), "pt");
  EXPECT_EQ(*model->find("é")->asString(), "");
}

TEST(Safetensors, F12_EveryDtypeIsRead) {
  for (auto [dtype, size] : std::initializer_list<std::pair<const char *, uint64_t>>{{"BOOL", 1},
                                                                                     {"U8", 1},
                                                                                     {"I8", 1},
                                                                                     {"F8_E5M2", 1},
                                                                                     {"F8_E4M3", 1},
                                                                                     {"F8_E8M0", 1},
                                                                                     {"I16", 2},
                                                                                     {"U16", 2},
                                                                                     {"F16", 2},
                                                                                     {"BF16", 2},
                                                                                     {"I32", 4},
                                                                                     {"U32", 4},
                                                                                     {"F32", 4},
                                                                                     {"F64", 8},
                                                                                     {"I64", 8},
                                                                                     {"U64", 8},
                                                                                     {"C64", 8}}) {
    std::string file = oneTensor(std::string("\"") + dtype + "\"", "[1]",
                                 "[0," + std::to_string(size) + "]", std::string(size, 'x'));
    EXPECT_EQ(open(file)->tensors()[0].bytes, size) << dtype;
  }
}

TEST(Safetensors, F12_HeadersBeyondTheFileAreRefused) {
  EXPECT_DIAGNOSTIC(open("abc"), "m.safetensors: error: the file ends early: 8 bytes are needed, 3 "
                                 "are left at byte 0 (field 'header_size') [E021]\n");
  std::string file = fileOf("{}");
  file[6] = 1;
  EXPECT_DIAGNOSTIC(open(file),
                    "m.safetensors: error: a header of 281474976710658 bytes; 2 bytes "
                    "are left, and 100000000 are allowed at byte 0 (field 'header_size') "
                    "[E022]\n");
}

TEST(Safetensors, F12_HeadersThatAreNotJsonAreRefusedWithTheByte) {
  EXPECT_DIAGNOSTIC(
      open(fileOf("{\"t\" 1}")),
      "m.safetensors: error: the header is not JSON: syntax error while parsing object "
      "separator - unexpected number literal; expected ':' at byte 13 (field 'header') "
      "[E029]\n");
  EXPECT_DIAGNOSTIC(open(fileOf("[1]")),
                    "m.safetensors: error: unexpected an array in the header at "
                    "byte 8 (field 'header') [E029]\n");
  EXPECT_DIAGNOSTIC(open(fileOf("")),
                    "m.safetensors: error: the header is not JSON: syntax error "
                    "while parsing value - unexpected end of input; expected '[', "
                    "'{', or a literal at byte 8 (field 'header') [E029]\n");
}

TEST(Safetensors, F12_FieldsOfAnotherKindAreRefused) {
  EXPECT_DIAGNOSTIC(open(oneTensor("3", "[2]", "[0,2]")),
                    "m.safetensors: error: unexpected an integer in the header at byte 22 (field "
                    "'t.dtype') [E029]\n");
  EXPECT_DIAGNOSTIC(open(oneTensor("\"U8\"", "[-2]", "[0,2]")),
                    "m.safetensors: error: unexpected a negative integer in the header at byte 36 "
                    "(field 't.shape') [E029]\n");
  EXPECT_DIAGNOSTIC(open(oneTensor("\"U8\"", "[[2]]", "[0,2]")),
                    "m.safetensors: error: unexpected an array in the header at byte 36 (field "
                    "'t.shape') [E029]\n");
  EXPECT_DIAGNOSTIC(
      open(oneTensor("\"U8\"", "[2]", "[0,2,3]")),
      "m.safetensors: error: unexpected a third offset in the header at byte 59 (field "
      "'t.data_offsets') [E029]\n");
  EXPECT_DIAGNOSTIC(open(fileOf("{\"__metadata__\":{\"a\":1}}")),
                    "m.safetensors: error: unexpected an integer in the header at byte 29 (field "
                    "'__metadata__.a') [E029]\n");
  EXPECT_DIAGNOSTIC(
      open(fileOf("{\"t\":{\"dtype\":\"U8\"}}")),
      "m.safetensors: error: tensor 't' needs dtype, shape and data_offsets at byte 13 "
      "(field 'header') [E029]\n");
  EXPECT_DIAGNOSTIC(open(fileOf("{\"t\":{\"color\":1}}")),
                    "m.safetensors: error: unknown field 'color' of tensor 't' at byte 14 (field "
                    "'header') [E029]\n");
}

TEST(Safetensors, F12_UnknownDtypesAreRefusedByName) {
  EXPECT_DIAGNOSTIC(open(oneTensor("\"Q4_0\"", "[2]", "[0,2]")),
                    "m.safetensors: error: tensor 't' has unknown dtype 'Q4_0' at byte 22 (field "
                    "'t.dtype') [E028]\n");
  EXPECT_DIAGNOSTIC(open(oneTensor("\"u8\"", "[2]", "[0,2]")),
                    "m.safetensors: error: tensor 't' has unknown dtype 'u8' at byte 22 (field "
                    "'t.dtype') [E028]\n");
}

TEST(Safetensors, F12_DuplicatesAreRefused) {
  std::string twice = std::string("{\"t\":") + entry + ",\"t\":" + entry + "}";
  EXPECT_DIAGNOSTIC(open(fileOf(twice, "ab")),
                    "m.safetensors: error: tensor 't' occurs twice at byte 61 (field 'header') "
                    "[E024]\n");
  EXPECT_DIAGNOSTIC(
      open(fileOf("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}")),
      "m.safetensors: error: key 'a' occurs twice at byte 32 (field 'header') [E024]\n");
}

TEST(Safetensors, F12_ShapesThatOverflowAreRefused) {
  EXPECT_DIAGNOSTIC(open(oneTensor("\"F32\"", "[9223372036854775807,2]", "[0,2]")),
                    "m.safetensors: error: tensor 't' takes more than 2^63 - 1 bytes at byte 13 "
                    "(field 't.shape') [E026]\n");
}

TEST(Safetensors, F12_OffsetsOutsideHolesAndOverlapsAreRefused) {
  EXPECT_DIAGNOSTIC(
      open(oneTensor("\"U8\"", "[2]", "[1,3]")),
      "m.safetensors: error: tensor 't' lies at [1, 3) of the data section, which has 2 "
      "bytes at byte 13 (field 't.data_offsets') [E027]\n");
  EXPECT_DIAGNOSTIC(
      open(oneTensor("\"U8\"", "[2]", "[2,0]")),
      "m.safetensors: error: tensor 't' lies at [2, 0) of the data section, which has 2 "
      "bytes at byte 13 (field 't.data_offsets') [E027]\n");
  EXPECT_DIAGNOSTIC(
      open(oneTensor("\"U8\"", "[1]", "[0,2]")),
      "m.safetensors: error: tensor 't' has 2 bytes by its offsets and 1 by its shape "
      "at byte 13 (field 't.data_offsets') [E027]\n");
  EXPECT_DIAGNOSTIC(
      open(oneTensor("\"U8\"", "[1]", "[1,2]")),
      "m.safetensors: error: 1 bytes before tensor 't' belong to no tensor at byte 62 "
      "(field 't.data_offsets') [E027]\n");
  EXPECT_DIAGNOSTIC(
      open(oneTensor("\"U8\"", "[1]", "[0,1]")),
      "m.safetensors: error: 1 bytes behind the last tensor belong to no tensor at byte "
      "62 (field 'data') [E027]\n");
  std::string overlap = std::string("{\"t\":") + entry + ",\"u\":" + entry + "}";
  EXPECT_DIAGNOSTIC(
      open(fileOf(overlap, "ab")),
      "m.safetensors: error: tensor 'u' overlaps the one before it at byte 113 (field "
      "'u.data_offsets') [E027]\n");
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string temporary(const char *name) {
  return testing::TempDir() + name;
}

struct Item {
  SafetensorsEntry entry;
  std::string bytes;
};

void write(const std::string &path, const std::vector<Item> &items,
           const std::vector<std::pair<std::string, std::string>> &metadata = {},
           size_t alignment = 64) {
  std::vector<SafetensorsEntry> entries;
  for (const Item &item : items)
    entries.push_back(item.entry);
  SafetensorsWriter writer(path, entries, metadata, alignment);
  for (const Item &item : items)
    writer.write(item.bytes);
  writer.commit();
}

TEST(SafetensorsWriter, WhatIsWrittenIsReadBackAligned) {
  std::string path = temporary("written.safetensors");
  std::string a = "abc", b(16, 'b'), c = "c";
  write(path, {{{"a", "U8", {3}}, a}, {{"b \"quoted\"", "F32", {2, 2}}, b}, {{"c", "I8", {}}, c}},
        {{"format", "writ"}, {"é", "\n"}});
  auto model = openModelFile(path);
  EXPECT_EQ(*model->find("format")->asString(), "writ");
  EXPECT_EQ(*model->find("é")->asString(), "\n");
  for (const char *name : {"a", "b \"quoted\"", "c"})
    EXPECT_EQ(model->findTensor(name)->fileOffset % 64, 0u) << name;
  EXPECT_EQ(text(model->bytes(*model->findTensor("a"))), a);
  EXPECT_EQ(text(model->bytes(*model->findTensor("b \"quoted\""))), b);
  EXPECT_EQ(text(model->bytes(*model->findTensor("c"))), c);
  // The gaps are tensors of zeros, as the format leaves no holes.
  ASSERT_EQ(model->tensors().size(), 5u);
  EXPECT_EQ(model->tensors()[1].name, "__pad1");
  EXPECT_EQ(text(model->bytes(model->tensors()[1])), std::string(61, '\0'));
  std::filesystem::remove(path);
}

TEST(SafetensorsWriter, TheBytesOfTheFileArePinned) {
  std::string path = temporary("pinned.safetensors");
  write(path, {{{"a", "U8", {2}}, "ab"}, {{"b", "BF16", {1}}, "cd"}}, {}, 8);
  std::string header = "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                       "\"__pad1\":{\"dtype\":\"U8\",\"shape\":[6],\"data_offsets\":[2,8]},"
                       "\"b\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[8,10]}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(readFile(path), fileOf(header, std::string("ab\0\0\0\0\0\0cd", 10)));
  std::filesystem::remove(path);
}

TEST(SafetensorsWriter, NothingIsWrittenOfWhatDoesNotFit) {
  std::string path = temporary("refused.safetensors");
  auto one = [&](const SafetensorsEntry &entry, const std::string &bytes = "ab") {
    write(path, {{entry, bytes}});
  };
  EXPECT_DIAGNOSTIC(one({"a", "F32", {2}}),
                    path + ": error: 2 bytes are given, its tensors have 8 [E029]\n");
  EXPECT_DIAGNOSTIC(one({"a", "U8", {2}}, "abc"),
                    path + ": error: more bytes are given than its tensors have [E029]\n");
  EXPECT_DIAGNOSTIC(one({"a", "F33", {2}}),
                    path + ": error: cannot write tensor 'a': unknown dtype 'F33' [E029]\n");
  EXPECT_DIAGNOSTIC(write(path, {{{"a", "U8", {2}}, "ab"}, {{"a", "U8", {2}}, "ab"}}),
                    path + ": error: cannot write tensor 'a': it occurs twice [E029]\n");
  EXPECT_DIAGNOSTIC(one({"__pad0", "U8", {2}}),
                    path + ": error: cannot write tensor '__pad0': names that start with '__' are "
                           "reserved [E029]\n");
  EXPECT_DIAGNOSTIC(one({"a", "U8", {-2}}),
                    path +
                        ": error: cannot write tensor 'a': its shape is negative or asks for more "
                        "than 2^64 bytes [E029]\n");
  EXPECT_DIAGNOSTIC(write(path, {}, {}, 12),
                    path + ": error: cannot align tensors to 12: must be a power of two from 8 up "
                           "[E029]\n");
  EXPECT_FALSE(std::filesystem::exists(path));
}

} // namespace
} // namespace writ
