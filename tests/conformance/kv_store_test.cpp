//===- kv_store_test.cpp - what the KV state holds, byte by byte ----------===//
#include "ir/Reference/Scalar.h"
#include "ir/Reference/Storage.h"
#include "tests/conformance/Problem.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

std::unique_ptr<Problem> storing(const std::string &storage, const std::vector<float> &values) {
  auto problem = makeProblem("kv_store_" + storage + "_v0",
                             {{"rows", 1}, {"kv_heads", 1}, {"head_dim", int64_t(values.size())}},
                             {.positions = {0}});
  std::copy(values.begin(), values.end(), problem->floats("k").begin());
  problem->evaluate();
  return problem;
}

TEST(F8_KvStore, F32IsACopy) {
  const std::vector<float> values{1.0f, -0.0f, 0x1p-149f, 3e38f, -INFINITY};
  auto problem = storing("f32", values);
  EXPECT_EQ(std::memcmp(problem->kv.sequences[0].k.data(), values.data(), 4 * values.size()), 0);
}

// Every bfloat16, the midpoint to its neighbour, and what lies beside that.
TEST(F13_Bfloat16, RoundsToNearestTiesToEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = reference::floatOfBfloat16(static_cast<uint16_t>(bits));
    EXPECT_EQ(std::bit_cast<uint32_t>(value), bits << 16);
    if (std::isnan(value)) {
      const float back = reference::floatOfBfloat16(reference::bfloat16OfFloat(value));
      EXPECT_TRUE(std::isnan(back));
      continue;
    }
    EXPECT_EQ(reference::bfloat16OfFloat(value), bits);
    if (std::isinf(value))
      continue;
    // The midpoint goes to the even one, also where the next one is infinite.
    EXPECT_EQ(reference::bfloat16OfFloat(std::bit_cast<float>((bits << 16) + 0x8000)),
              bits + (bits & 1));
    EXPECT_EQ(reference::bfloat16OfFloat(std::bit_cast<float>((bits << 16) + 0x7fff)), bits);
    EXPECT_EQ(reference::bfloat16OfFloat(std::bit_cast<float>((bits << 16) + 0x8001)), bits + 1);
  }
  // A NaN whose payload lies in the lower half stays one.
  EXPECT_TRUE(std::isnan(
      reference::floatOfBfloat16(reference::bfloat16OfFloat(std::bit_cast<float>(0x7f800001u)))));
}

TEST(F8_KvStore, ABlockOfQ8HasAScaleOfBinary16AndCodes) {
  std::vector<float> values(32, 0.0f);
  values[0] = 2.0f;
  values[1] = -1.0f; // rint(-63.5) = -64
  values[2] = 0.0118f;
  auto problem = storing("q8_0", values);
  const std::vector<std::byte> &plane = problem->kv.sequences[0].k;
  ASSERT_EQ(plane.size(), 34u);
  const reference::Block block = reference::readBlock("q8_0", plane.data(), 0);
  // The scale is rounded when it is stored, after the codes are made.
  EXPECT_EQ(block.scale, reference::floatOfBinary16(reference::binary16OfFloat(2.0f / 127.0f)));
  EXPECT_NE(block.scale, 2.0f / 127.0f);
  EXPECT_EQ(block.code[0], 127);
  EXPECT_EQ(block.code[1], -64);
  EXPECT_EQ(block.code[2], 1); // 0.0118 * 63.5 = 0.7493
  EXPECT_EQ(block.code[3], 0);
}

TEST(F8_KvStore, ExceptionalBlocksOfQ8) {
  std::vector<float> values(128, 0.0f);
  values[3] = std::nanf("");
  values[40] = -INFINITY;
  values[70] = std::nextafter(0x1p-120f, 0.0f); // below: no codes
  values[100] = 9e6f;                           // the scale overflows binary16
  auto problem = storing("q8_0", values);
  const std::byte *plane = problem->kv.sequences[0].k.data();
  for (const int64_t b : {0, 1}) {
    const reference::Block block = reference::readBlock("q8_0", plane, b);
    EXPECT_TRUE(std::isnan(block.scale));
    for (const int32_t code : block.code)
      EXPECT_EQ(code, 0);
  }
  EXPECT_TRUE(sameFloat(reference::readBlock("q8_0", plane, 2).scale, 0.0f));
  EXPECT_EQ(reference::readBlock("q8_0", plane, 2).code[6], 0);
  EXPECT_TRUE(std::isinf(reference::readBlock("q8_0", plane, 3).scale));
  EXPECT_EQ(reference::readBlock("q8_0", plane, 3).code[4], 127);
}

// A storage needs the words that make it: codes where it has blocks, and only there.
TEST(F8_KvStore, QuantizationIsWhatTheStorageHolds) {
  for (const auto &[from, to] : {std::pair("f16", "q8_0"), {"q8_0", "f16"}}) {
    auto problem =
        makeProblem(std::string("kv_store_") + from + "_v0",
                    {{"rows", 1}, {"kv_heads", 1}, {"head_dim", 32}}, {.positions = {0}});
    problem->contract["operands"]["kv"]["storage"] = to;
    problem->kv.storage = to;
    try {
      problem->evaluate();
      ADD_FAILURE() << from << " made " << to;
    } catch (const reference::ReferenceError &error) {
      EXPECT_NE(std::string(error.what()).find("field 'quantization'"), std::string::npos);
    }
  }
}

} // namespace
} // namespace writ::test
