//===- GgufRefusalTest.cpp - malformed GGUF files (CASES 18) --------------===//
#include "tests/import/GgufBuilder.h"
#include "tests/support/Expect.h"

namespace writ {
namespace {

using test::bytesOf;
using test::GgufBuilder;

void open(const std::string &file) {
  openModelBytes(bytesOf(file), "m.gguf");
}

/// A small file whose every field a test may spoil.
class GgufRefusal : public testing::Test {
protected:
  GgufRefusal() {
    builder.add("general.alignment", uint32_t{32}).add("flag", true);
    builder.add("words", std::vector<std::string>{"a", "bc"});
    builder.tensor("w", "q8_0", {4, 64}).tensor("n", "f32", {8});
    file = builder.build();
  }

  template <typename T> void spoil(const std::string &field, T value) {
    builder.patch(file, field, value);
  }
  /// "m.gguf: error: PROBLEM at byte N (field 'F') [CODE]", N being where `field` lies, plus
  /// `extra`.
  std::string refusal(const std::string &problem, const std::string &field, const std::string &code,
                      uint64_t extra = 0) const {
    return "m.gguf: error: " + problem + " at byte " +
           std::to_string(builder.place(field) + extra) + " (field '" + field + "') [" + code +
           "]\n";
  }

  GgufBuilder builder;
  std::string file;
};

TEST_F(GgufRefusal, TheFileIsGoodBeforeItIsSpoilt) {
  EXPECT_NO_THROW(open(file));
}

//===----------------------------------------------------------------------===//
// What kind of file it is
//===----------------------------------------------------------------------===//

TEST_F(GgufRefusal, F12_AnotherFormatIsRefusedByName) {
  EXPECT_DIAGNOSTIC(open(""), "m.gguf: error: not a model file: it is empty [E020]\n");
  EXPECT_DIAGNOSTIC(open("GGU"),
                    "m.gguf: error: neither GGUF nor safetensors: the file starts with "
                    "'GGU' at byte 0 (field 'magic') [E020]\n");
  EXPECT_DIAGNOSTIC(open("\x7f"
                         "ELF"),
                    "m.gguf: error: neither GGUF nor safetensors: the file starts "
                    "with '\\x7fELF' at byte 0 (field 'magic') [E020]\n");
  EXPECT_DIAGNOSTIC(
      open("tjgg\3\0\0\0"),
      "m.gguf: error: a file of the GGML family that GGUF has replaced; convert it to "
      "GGUF v3 at byte 0 (field 'magic') [E020]\n");
}

TEST_F(GgufRefusal, F12_BigEndianIsRefusedByName) {
  spoil<uint32_t>("version", 0x03000000);
  EXPECT_DIAGNOSTIC(open(file), refusal("a big-endian GGUF v3 file; Writ reads little-endian files",
                                        "version", "E020"));
}

TEST_F(GgufRefusal, F12_OtherVersionsAreRefused) {
  spoil<uint32_t>("version", 1);
  EXPECT_DIAGNOSTIC(open(file), refusal("a GGUF v1 file; convert it to v3", "version", "E020"));
  spoil<uint32_t>("version", 0);
  EXPECT_DIAGNOSTIC(open(file), refusal("GGUF version 0; Writ reads 2 and 3", "version", "E020"));
  spoil<uint32_t>("version", 4);
  EXPECT_DIAGNOSTIC(open(file), refusal("GGUF version 4; Writ reads 2 and 3", "version", "E020"));
}

//===----------------------------------------------------------------------===//
// Lengths and counts
//===----------------------------------------------------------------------===//

TEST_F(GgufRefusal, F12_AFileThatEndsAnywhereIsRefused) {
  // Each prefix, up to the last byte of the last tensor.
  for (size_t length = 0; length < file.size(); ++length) {
    std::string text = test::errorOf([&] { open(file.substr(0, length)); });
    EXPECT_TRUE(text.starts_with("m.gguf: error: ")) << length << ": " << text;
  }
  EXPECT_DIAGNOSTIC(open(file.substr(0, 10)),
                    "m.gguf: error: the file ends early: 8 bytes are needed, 2 are left at byte 8 "
                    "(field 'tensor_count') [E021]\n");
}

TEST_F(GgufRefusal, F12_CountsBeyondTheFileAreRefused) {
  std::string left = std::to_string(file.size() - builder.place("metadata_kv_count") - 8);
  spoil<uint64_t>("metadata_kv_count", 1ull << 62);
  EXPECT_DIAGNOSTIC(open(file), refusal("a count of 4611686018427387904 does not fit into the " +
                                            left + " bytes that are left (each takes 14 or more)",
                                        "metadata_kv_count", "E022"));
  spoil<uint64_t>("tensor_count", UINT64_MAX);
  left = std::to_string(file.size() - builder.place("tensor_count") - 8);
  EXPECT_DIAGNOSTIC(open(file), refusal("a count of 18446744073709551615 does not fit into the " +
                                            left + " bytes that are left (each takes 33 or more)",
                                        "tensor_count", "E022"));
}

TEST_F(GgufRefusal, F12_ACountThatIsWrongByOneIsRefused) {
  // Tensor 0 is taken for a key: name, 2 (its n_dims, here u16), half an extent as the value. What
  // follows is then read 15 bytes into it.
  spoil<uint64_t>("metadata_kv_count", 4);
  uint64_t at = builder.place("tensor_infos[0].name") + 8 + 1 + 4 + 2;
  EXPECT_DIAGNOSTIC(open(file),
                    "m.gguf: error: a string of 1125899906842624 bytes does not fit into the " +
                        std::to_string(file.size() - at - 8) + " bytes that are left at byte " +
                        std::to_string(at) + " (field 'tensor_infos[0].name') [E022]\n");
}

TEST_F(GgufRefusal, F12_StringLengthsBeyondTheFileAreRefused) {
  for (uint64_t length : {uint64_t{1} << 20, uint64_t{1} << 63, UINT64_MAX}) {
    std::string left = std::to_string(file.size() - builder.place("metadata_kv[1].key") - 8);
    spoil<uint64_t>("metadata_kv[1].key", length);
    EXPECT_DIAGNOSTIC(open(file),
                      refusal("a string of " + std::to_string(length) +
                                  " bytes does not fit into the " + left + " bytes that are left",
                              "metadata_kv[1].key", "E022"));
  }
}

TEST_F(GgufRefusal, F12_AnElementOfAnArrayOfStringsIsNamed) {
  uint64_t at = builder.place("metadata_kv[2].value") + 4 + 8 + 8 + 1;
  file[at + 7] = '\x7f';
  std::string text = test::errorOf([&] { open(file); });
  EXPECT_NE(
      text.find(" at byte " + std::to_string(at) + " (field 'metadata_kv[2].value[1]') [E022]"),
      std::string::npos)
      << text;
}

TEST_F(GgufRefusal, F12_ArrayCountsBeyondTheFileAreRefused) {
  uint64_t at = builder.place("metadata_kv[2].value") + 4, count = 1ull << 61;
  std::memcpy(file.data() + at, &count, sizeof(count));
  EXPECT_DIAGNOSTIC(
      open(file), "m.gguf: error: an array of 2305843009213693952 elements does not fit into the " +
                      std::to_string(file.size() - at - 8) + " bytes that are left at byte " +
                      std::to_string(at) + " (field 'metadata_kv[2].value.count') [E022]\n");
}

TEST(GgufLimits, F12_ArraysHaveALimitInAll) {
  GgufBuilder builder;
  builder.add("a", std::vector<uint8_t>(1 << 20)).add("b", std::vector<uint8_t>((1 << 24)));
  std::string file = builder.build();
  EXPECT_DIAGNOSTIC(open(file),
                    "m.gguf: error: an array of 16777216 elements; all arrays together may have "
                    "16777216 at byte " +
                        std::to_string(builder.place("metadata_kv[1].value") + 4) +
                        " (field 'metadata_kv[1].value.count') [E022]\n");
}

//===----------------------------------------------------------------------===//
// Keys and values
//===----------------------------------------------------------------------===//

TEST_F(GgufRefusal, F12_DuplicateKeysAreRefused) {
  builder.add("flag", false);
  file = builder.build();
  EXPECT_DIAGNOSTIC(open(file), refusal("key 'flag' occurs twice, first as metadata_kv[1]",
                                        "metadata_kv[3].key", "E024"));
}

TEST_F(GgufRefusal, F12_DuplicateTensorsAreRefused) {
  builder.tensor("w", "f32", {1});
  file = builder.build();
  EXPECT_DIAGNOSTIC(open(file), refusal("tensor 'w' occurs twice, first as tensor_infos[0]",
                                        "tensor_infos[2].name", "E024"));
}

TEST_F(GgufRefusal, F12_NamesAreUtf8AndNotEmpty) {
  file[builder.place("metadata_kv[1].key") + 8] = '\xff';
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("the name '\\xfflag' is not UTF-8", "metadata_kv[1].key", "E023"));
  GgufBuilder empty;
  empty.add("", uint32_t{1});
  EXPECT_DIAGNOSTIC(open(empty.build()),
                    "m.gguf: error: a name of 0 bytes, must have 1 to 65535 at byte 24 (field "
                    "'metadata_kv[0].key') [E023]\n");
  GgufBuilder longest;
  longest.add(std::string(65536, 'k'), true);
  EXPECT_DIAGNOSTIC(open(longest.build()),
                    "m.gguf: error: a name of 65536 bytes, must have 1 to 65535 at byte 24 (field "
                    "'metadata_kv[0].key') [E023]\n");
}

TEST_F(GgufRefusal, F12_UnknownValueTypesAreRefused) {
  spoil<uint32_t>("metadata_kv[1].value_type", 13);
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("value type 13, must be 0 to 12", "metadata_kv[1].value_type", "E023"));
}

TEST_F(GgufRefusal, F12_WrongBoolsAreRefused) {
  spoil<uint8_t>("metadata_kv[1].value", 2);
  EXPECT_DIAGNOSTIC(open(file), refusal("a bool has the value 2, must be 0 or 1",
                                        "metadata_kv[1].value", "E023"));
}

TEST_F(GgufRefusal, F12_NestedArraysAreRefused) {
  spoil<uint32_t>("metadata_kv[2].value", 9);
  EXPECT_DIAGNOSTIC(open(file),
                    "m.gguf: error: an array of arrays, which no known key has at byte " +
                        std::to_string(builder.place("metadata_kv[2].value")) +
                        " (field 'metadata_kv[2].value.type') [E023]\n");
}

TEST_F(GgufRefusal, F12_AlignmentsThatAreNoneAreRefused) {
  // 2^30 is the one of CASES 18; it would make a hole of a gigabyte.
  for (uint32_t alignment : {0u, 1u, 4u, 33u, 1u << 21, 1u << 30, 1u << 31, UINT32_MAX}) {
    spoil("metadata_kv[0].value", alignment);
    EXPECT_DIAGNOSTIC(open(file), refusal("general.alignment is " + std::to_string(alignment) +
                                              ", must be a power of two from 8 to 1048576",
                                          "metadata_kv[0].value", "E025"));
  }
}

TEST_F(GgufRefusal, F12_AnAlignmentOfAnotherTypeIsRefused) {
  spoil<uint32_t>("metadata_kv[0].value_type", 6);
  EXPECT_DIAGNOSTIC(open(file), refusal("general.alignment is of type f32, must be u32",
                                        "metadata_kv[0].value", "E025"));
}

//===----------------------------------------------------------------------===//
// Shapes and storage types
//===----------------------------------------------------------------------===//

TEST_F(GgufRefusal, F12_ADimensionOfZeroIsRefused) {
  spoil<uint64_t>("tensor_infos[0].dims[1]", 0);
  EXPECT_DIAGNOSTIC(open(file), refusal("tensor 'w' has a dimension of 0, must be 1 to 2^63 - 1",
                                        "tensor_infos[0].dims[1]", "E026"));
}

TEST_F(GgufRefusal, F12_ADimensionBeyondInt64IsRefused) {
  spoil<uint64_t>("tensor_infos[0].dims[0]", 1ull << 63);
  EXPECT_DIAGNOSTIC(
      open(file),
      refusal("tensor 'w' has a dimension of 9223372036854775808, must be 1 to 2^63 - 1",
              "tensor_infos[0].dims[0]", "E026"));
}

TEST_F(GgufRefusal, F12_AnElementCountThatOverflowsIsRefused) {
  spoil<uint64_t>("tensor_infos[0].dims[0]", INT64_MAX);
  spoil<uint64_t>("tensor_infos[0].dims[1]", 2);
  EXPECT_DIAGNOSTIC(open(file), refusal("tensor 'w' has more than 2^63 - 1 elements",
                                        "tensor_infos[0].dims[1]", "E026"));
}

TEST_F(GgufRefusal, F12_ASizeThatPadsToZeroIsRefused) {
  // (2^61 - 1) binary64 values take 2^64 - 8 bytes; padded to 32 they would take 0.
  spoil<uint64_t>("tensor_infos[1].dims[0]", (1ull << 61) - 1);
  spoil<uint32_t>("tensor_infos[1].type", 28);
  EXPECT_DIAGNOSTIC(open(file), refusal("tensor 'n' takes more than 2^63 - 1 bytes",
                                        "tensor_infos[1].type", "E026"));
  // 2^63 - 1 bytes fit into an int64_t, their padding does not.
  spoil<uint64_t>("tensor_infos[1].dims[0]", INT64_MAX);
  spoil<uint32_t>("tensor_infos[1].type", 24);
  EXPECT_DIAGNOSTIC(open(file), refusal("tensor 'n' takes more than 2^63 - 1 bytes",
                                        "tensor_infos[1].type", "E026"));
}

TEST_F(GgufRefusal, F12_MoreThanFourDimensionsAreRefused) {
  for (uint32_t count : {0u, 5u, UINT32_MAX}) {
    spoil("tensor_infos[0].n_dims", count);
    EXPECT_DIAGNOSTIC(open(file), refusal("tensor 'w' has " + std::to_string(count) +
                                              " dimensions, must have 1 to 4",
                                          "tensor_infos[0].n_dims", "E026"));
  }
}

TEST_F(GgufRefusal, F12_ARowThatBlocksDoNotDivideIsRefused) {
  spoil<uint64_t>("tensor_infos[0].dims[0]", 65);
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("tensor 'w' has rows of 65 elements, which blocks of 32 (q8_0) do not "
                            "divide",
                            "tensor_infos[0].type", "E026"));
}

TEST_F(GgufRefusal, F12_UnknownAndRemovedStorageTypesAreRefusedByName) {
  spoil<uint32_t>("tensor_infos[0].type", 99);
  EXPECT_DIAGNOSTIC(open(file), refusal("tensor 'w' has unknown storage type 99",
                                        "tensor_infos[0].type", "E028"));
  spoil<uint32_t>("tensor_infos[0].type", 31);
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("tensor 'w' has storage type 31 (Q4_0_4_4), which the format "
                            "has removed",
                            "tensor_infos[0].type", "E028"));
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

TEST_F(GgufRefusal, F12_TensorBeyondTheFileIsRefused) {
  std::string available = std::to_string(file.size() - builder.place("data"));
  spoil<uint64_t>("tensor_infos[1].offset", 320);
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("tensor 'n' has 32 bytes at offset 320 of the data section, "
                            "which has " +
                                available,
                            "tensor_infos[1].offset", "E027"));
  spoil<uint64_t>("tensor_infos[1].offset", UINT64_MAX - 31);
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("tensor 'n' has 32 bytes at offset 18446744073709551584 of the data "
                            "section, which has " +
                                available,
                            "tensor_infos[1].offset", "E027"));
}

TEST_F(GgufRefusal, F12_ATensorCutShortIsRefused) {
  file.pop_back();
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("tensor 'n' has 32 bytes at offset 288 of the data section, "
                            "which has 319",
                            "tensor_infos[1].offset", "E027"));
}

TEST_F(GgufRefusal, F12_OverlappingTensorsAreRefused) {
  spoil<uint64_t>("tensor_infos[1].offset", 256);
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("tensors 'w' and 'n' overlap", "tensor_infos[1].offset", "E027"));
  spoil<uint64_t>("tensor_infos[1].offset", 0);
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("tensors 'w' and 'n' overlap", "tensor_infos[1].offset", "E027"));
}

TEST_F(GgufRefusal, F12_AMisalignedTensorIsRefused) {
  spoil<uint64_t>("tensor_infos[1].offset", 290);
  EXPECT_DIAGNOSTIC(open(file),
                    refusal("tensor 'n' has offset 290, which the alignment 32 does not "
                            "divide",
                            "tensor_infos[1].offset", "E027"));
}

} // namespace
} // namespace writ
