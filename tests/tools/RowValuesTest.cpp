// What `writ trace` takes for the same bits: elements, each NaN as one, and nothing between rows.
#include "compiler/Tools/writ/RowValues.h"

#include "writ/packed_layout.h"

#include <cstring>
#include <gtest/gtest.h>

namespace writ::tool {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T> Bytes bytesOf(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::optional<RowDifference> differenceOf(const std::string &storage, int64_t width, const Bytes &a,
                                          const Bytes &b) {
  const auto fields = rowFields(storage, width, int64_t(a.size()));
  return firstDifference(fields, canonicalRow(fields, a.data()), canonicalRow(fields, b.data()));
}

TEST(RowValues, S1_ANaNIsANaNWhateverItsPayload) {
  EXPECT_FALSE(differenceOf("f32", 2, bytesOf<uint32_t>({0x7f800001, 7}),
                            bytesOf<uint32_t>({0xffc00123, 7})));
  EXPECT_FALSE(differenceOf("f16", 1, bytesOf<uint16_t>({0x7c01}), bytesOf<uint16_t>({0xfe00})));
  EXPECT_FALSE(differenceOf("bf16", 1, bytesOf<uint16_t>({0x7f81}), bytesOf<uint16_t>({0xffc0})));
  EXPECT_FALSE(differenceOf("f64", 1, bytesOf<uint64_t>({0x7ff0000000000001}),
                            bytesOf<uint64_t>({0xfff8000000000000})));
  // An infinity is none, and neither is the number beside it.
  EXPECT_TRUE(
      differenceOf("f32", 1, bytesOf<uint32_t>({0x7f800000}), bytesOf<uint32_t>({0x7fc00000})));
  EXPECT_TRUE(
      differenceOf("f32", 1, bytesOf<uint32_t>({0x7f7fffff}), bytesOf<uint32_t>({0x7f800001})));
}

TEST(RowValues, S1_ASignedZeroIsAnotherBit) {
  const auto difference =
      differenceOf("f32", 3, bytesOf<uint32_t>({1, 0, 0}), bytesOf<uint32_t>({1, 0x80000000, 2}));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->index, 1);
  EXPECT_EQ(difference->elements, 2);
  EXPECT_EQ(difference->b, 0x80000000u);
}

TEST(RowValues, S1_ActivationCodesAreCodesScalesAndSumsAndNotWhatRoundsThemUp) {
  for (const ActivationCodes *codes : kActivationCodes) {
    const int64_t k = 512, bytes = codes->rowBytes(k);
    const Bytes row(static_cast<size_t>(bytes));
    const struct {
      int64_t at;
      const char *field;
      int64_t index;
    } places[] = {{17, "codes", 17},
                  {codes->scales(k) + 4, "scales", 1},
                  {codes->sums(k) + codes->sumBytes * 3, "sums", 3}};
    for (const auto &place : places) {
      Bytes other = row;
      other[size_t(place.at)] = std::byte{1};
      const auto difference = differenceOf(codes->storage, k, row, other);
      ASSERT_TRUE(difference) << codes->storage << " " << place.field;
      EXPECT_EQ(difference->field, place.field);
      EXPECT_EQ(difference->index, place.index);
    }
    for (int64_t at = codes->end(k); at < bytes; ++at) {
      Bytes other = row;
      other[size_t(at)] = std::byte{1};
      EXPECT_FALSE(differenceOf(codes->storage, k, row, other)) << codes->storage;
    }
  }
}

TEST(RowValues, S1_AStorageThatIsNotKnownIsComparedByteByByte) {
  const auto difference =
      differenceOf("blocks", 7, bytesOf<uint8_t>({1, 2, 3}), bytesOf<uint8_t>({1, 2, 4}));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->field, "bytes");
  EXPECT_EQ(difference->index, 2);
}

TEST(RowValues, AValueIsShownExactlyAndWithItsBits) {
  EXPECT_EQ(valueText("f32", 0xc1400000), "-0x1.8p+3 (0xc1400000)");
  EXPECT_EQ(valueText("f32", 1), "0x1p-149 (0x00000001)");
  EXPECT_EQ(valueText("f16", 0x0001), "0x1p-24 (0x0001)");
  EXPECT_EQ(valueText("f16", 0xfbff), "-0x1.ffcp+15 (0xfbff)");
  EXPECT_EQ(valueText("f16", 0x7c00), "inf (0x7c00)");
  EXPECT_EQ(valueText("bf16", 0x3f80), "0x1p+0 (0x3f80)");
  EXPECT_EQ(valueText("f64", 0x4000000000000000), "0x1p+1 (0x4000000000000000)");
  EXPECT_EQ(valueText("f32", 0x7fc00000), "nan (0x7fc00000)");
  EXPECT_EQ(valueText("i8", 0xf9), "-7");
  EXPECT_EQ(valueText("i16", 0x8000), "-32768");
  EXPECT_EQ(valueText("i32", 5), "5");
}

} // namespace
} // namespace writ::tool
