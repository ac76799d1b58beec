//===- comparison_test.cpp - what the comparison of kernels sees ----------===//
//
// Negative controls of C8's comparisons: each is of an output that is wrong in one way.
//
//===----------------------------------------------------------------------===//
#include "ir/Reference/Storage.h"
#include "tests/conformance/KernelCall.h"
#include "writ/kernel_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

namespace writ::test {
namespace {

// Negative controls: the comparison sees one wrong bit, a missing element, a write beyond the end,
// a NaN.

std::string differenceAfter(const std::function<void(std::span<float>)> &damage) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 2}, {"n", 5}}, {});
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("residual_f32"), 1);
  call.poison();
  call.run(writ_find_provider("residual_f32")->bodies[WRIT_ISA_SCALAR], {{0, call.units()}});
  damage(problem->floats("out"));
  return call.difference();
}

TEST(C8_ComparisonSees, NoFaultWhereThereIsNone) {
  EXPECT_EQ(differenceAfter([](std::span<float>) {}), "");
}

TEST(C8_ComparisonSees, OneBit) {
  EXPECT_NE(differenceAfter([](std::span<float> out) { out[7] = std::nextafter(out[7], 9.0f); }),
            "");
}

TEST(C8_ComparisonSees, NaN) {
  EXPECT_NE(differenceAfter([](std::span<float> out) { out[3] = std::nanf(""); }), "");
}

TEST(C8_ComparisonSees, AnInfinity) {
  EXPECT_NE(differenceAfter([](std::span<float> out) { out[3] = HUGE_VALF; }), "");
}

TEST(C8_ComparisonSees, TheSignOfZero) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 2}, {"n", 5}}, {});
  for (const char *operand : {"a", "b"})
    std::ranges::fill(problem->floats(operand), 0.0f);
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("residual_f32"), 1);
  call.poison();
  call.run(writ_find_provider("residual_f32")->bodies[WRIT_ISA_SCALAR], {{0, call.units()}});
  EXPECT_EQ(call.difference(), "");
  problem->floats("out")[9] = -0.0f;
  EXPECT_NE(call.difference(), "");
}

TEST(C8_ComparisonSees, AWriteBeyondTheEnd) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 2}, {"n", 5}}, {});
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("residual_f32"), 1);
  call.poison();
  const writ_body beyond = [](const void *args, int64_t begin, int64_t end) {
    writ_find_provider("residual_f32")->bodies[WRIT_ISA_SCALAR](args, begin, end);
    float *out; // the argument block's third slot, as the map says
    std::memcpy(&out, static_cast<const char *>(args) + 2 * sizeof(void *), sizeof(out));
    out[10] = 0.0f;
  };
  call.run(beyond, {{0, call.units()}});
  EXPECT_EQ(call.difference(), "operand 'out' was written beyond its end");
}

TEST(C8_ComparisonSees, UnitsThatDidNotRun) {
  auto problem = makeProblem("residual_f32_v0", {{"rows", 3}, {"n", 5}}, {});
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("residual_f32"), 1);
  call.poison();
  call.run(writ_find_provider("residual_f32")->bodies[WRIT_ISA_SCALAR], {{0, call.units() - 1}});
  EXPECT_NE(call.difference(), "");
}

TEST(C8_ComparisonSees, AnotherMergeOrder) {
  auto problem = makeProblem("linear_f32_v0", {{"rows", 2}, {"k", 512}, {"n", 40}}, {});
  problem->vocabulary["words"]["reduction"]["sum_f32_fma_segments8"]["merge"] = "tree_halves";
  problem->evaluate();
  KernelCall call(*problem, Data::get().kernelMaps.at("linear_f32"), 1);
  call.poison();
  call.run(writ_find_provider("linear_f32")->bodies[WRIT_ISA_SCALAR], {{0, call.units()}});
  EXPECT_NE(call.difference(), "");
}

// K and V in pages. Halves of a binary32, and pairs of codes, look like NaN of binary16 all the
// time.

/// One row of K and V, stored by the kernel; the first element of K is `value`.
struct StoredRow {
  StoredRow(const std::string &storage, float value) {
    const std::string contract = "kv_store_" + storage + "_v0";
    for (const auto &[id, candidate] : Data::get().kernelMaps)
      if (candidate["contracts"] == nlohmann::json::array({contract}))
        map = &candidate;
    problem = makeProblem(contract, {{"rows", 1}, {"kv_heads", 1}, {"head_dim", 32}},
                          {.positions = {17}});
    problem->floats("k")[0] = value;
    problem->floats("k")[1] = 127; // of Q8_0 the scale is 1, so that codes are the values
    for (size_t i = 2; i < 32; ++i)
      problem->floats("k")[i] = static_cast<float>(i);
    problem->evaluate();
    call = std::make_unique<KernelCall>(*problem, *map, 1);
    call->poison();
  }
  void run(int64_t units) const {
    call->run(writ_find_provider(map->at("id").get<std::string>().c_str())->bodies[WRIT_ISA_SCALAR],
              {{0, units}});
  }
  /// The bytes that the reference has for K.
  std::byte *expected(size_t at) const {
    return problem->kv.sequences[0].k.data() + problem->kv.sequences[0].k.size() - rowBytes() + at;
  }
  size_t rowBytes() const {
    return static_cast<size_t>(reference::rowBytes(problem->kv.storage, 32));
  }

  const nlohmann::json *map = nullptr;
  std::unique_ptr<Problem> problem;
  std::unique_ptr<KernelCall> call;
};

/// What is seen where the reference has `byte` at a place of K, and the kernel what it stored.
std::string differenceWith(const std::string &storage, float value, size_t at, int byte) {
  const StoredRow row(storage, value);
  row.run(row.call->units());
  EXPECT_EQ(row.call->difference(), "") << storage;
  EXPECT_NE(*row.expected(at), static_cast<std::byte>(byte)) << "no fault was seeded";
  *row.expected(at) = static_cast<std::byte>(byte);
  return row.call->difference();
}

TEST(C8_ComparisonSees, OneBitOfAKvElementWhoseHalvesLookLikeNaN) {
  const auto f32 = std::bit_cast<float>(0x3f807e01), bf16 = std::bit_cast<float>(0x7e010000);
  const std::string said = differenceWith("f32", f32, 0, 0x02);
  EXPECT_TRUE(said.ends_with("[0] is f32 0x3f807e01, the reference has 0x3f807e02")) << said;
  EXPECT_NE(differenceWith("bf16", bf16, 0, 0x02), "");
  EXPECT_NE(differenceWith("f16", 1, 0, 0x01), "");
}

TEST(C8_ComparisonSees, OneCodeOfAKvBlockBesideAnother) {
  // After the scale: -2 is 0xfe, which with the code beside it is a NaN of binary16.
  const StoredRow row("q8_0", -2);
  row.run(row.call->units());
  ASSERT_EQ(*row.expected(2), std::byte{0xfe});
  EXPECT_NE(differenceWith("q8_0", -2, 2, 0xff), "");
  EXPECT_NE(differenceWith("q8_0", -2, 3, 0x7e), "");
  EXPECT_NE(differenceWith("q8_0", -2, 0, 0x01), "") << "the scale";
}

TEST(C8_ComparisonSees, NoPayloadOfAKvNaN) {
  const auto nan = std::bit_cast<float>(0x7fc00000);
  EXPECT_EQ(differenceWith("f32", nan, 0, 0x01), "");
  EXPECT_EQ(differenceWith("f16", nan, 0, 0x01), "");
  EXPECT_EQ(differenceWith("bf16", nan, 0, 0xc1), "");
}

TEST(C8_ComparisonSees, AKvRowThatIsMissing) {
  for (const std::string storage : {"f32", "f16", "bf16", "q8_0"}) {
    const StoredRow row(storage, 1);
    row.run(0);
    EXPECT_NE(row.call->difference(), "") << storage;
    // Also where the reference has a NaN of the storage.
    const StoredRow other(storage, std::nanf(""));
    other.run(0);
    EXPECT_NE(other.call->difference(), "") << storage;
  }
}

TEST(C8_ComparisonSees, AWriteToPagesOfOthers) {
  for (const std::string storage : {"f32", "f16", "bf16", "q8_0"})
    for (const int byte : {0x7e, 0xfe, 0xff}) {
      const StoredRow row(storage, 1);
      row.run(row.call->units());
      for (const size_t at : {size_t(0), row.call->kvPlanes().size() - 4}) // of another layer
        std::fill_n(row.call->kvPlanes().begin() + static_cast<ptrdiff_t>(at), 4,
                    static_cast<std::byte>(byte));
      EXPECT_NE(row.call->difference(), "") << storage << ", " << byte;
    }
}

} // namespace
} // namespace writ::test
