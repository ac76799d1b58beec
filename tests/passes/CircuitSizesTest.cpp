// Sizes that a circuit computes are bounded where it computes them, before they take time and
// memory.
#include "tests/diagnostics/DataTree.h"
#include "tests/emit/Example.h"

#include <algorithm>

namespace writ::test {
namespace {

const char *const kCircuit = "circuits/llama.json";

/// Expects the error `said` at the value `by`, which stands in the place of `value` behind
/// `before`.
void expectRefusal(const std::string &before, const std::string &value, const std::string &by,
                   const std::string &said) {
  const DataTree tree;
  tree.replace(kCircuit, before + value, before + by);
  try {
    const Catalog catalog = tree.load();
    compileTiny(catalog, "portable");
    ADD_FAILURE() << "nothing was refused with " << before << by;
  } catch (const Error &error) {
    const std::string text = tree.read(kCircuit);
    const size_t at = text.find(before + by) + before.size();
    const size_t line = std::count(text.begin(), text.begin() + at, '\n') + 1;
    EXPECT_EQ(tree.relative(error.what()), std::string(kCircuit) + ":" + std::to_string(line) +
                                               ":" + std::to_string(at - text.rfind('\n', at)) +
                                               ": error: " + said + "\n");
  }
}

TEST(CircuitSizes, F12_E033_TheNumberOfLayersIsBounded) {
  for (const std::string many : {"4294967296", "-1"})
    expectRefusal("\"repeat\": ", "\"layers\"", many,
                  "the number of layers is " + many + ", expected 0 to 65536 [E033]");
}

// Each frequency is computed with 200 bits: a number from a file must not say how many.
TEST(CircuitSizes, F12_E033_RotaryDimensionsAreBounded) {
  for (const std::string many : {"4294967296", "0"})
    expectRefusal("\"base\": \"rope_base\", \"dimensions\": ", "\"rope_dims\"", many,
                  "the number of rotary dimensions is " + many + ", expected 2 to 65536 [E033]");
  expectRefusal("\"rope_frequencies\": { \"base\": ", "\"rope_base\"", "-1",
                "the rotary base is -1, expected a positive number [E033]");
}

// A word of the vocabulary that the compiler has no formula for, and one that is no word.
TEST(CircuitSizes, C1_E030_ARotaryScalingHasAFormula) {
  const DataTree tree;
  tree.replace("contracts/vocabulary.json", "    \"frequency_scaling\": {\n",
               "    \"frequency_scaling\": {\n      \"another\": {\"meaning\": \"t\"},\n");
  tree.replace("contracts/invariance.json", "[\"none\", \"linear\", \"ntk\",",
               "[\"another\", \"none\", \"linear\", \"ntk\",");
  tree.replace(kCircuit, "\"default\": \"linear\"", "\"default\": \"another\"");
  const auto refusal = [&tree] {
    try {
      const Catalog catalog = tree.load();
      compileTiny(catalog, "portable");
      return std::string();
    } catch (const Error &error) {
      return tree.relative(error.what());
    }
  };
  EXPECT_NE(
      refusal().find("error: the compiler has no formula for the rotary scaling 'another' [E030]"),
      std::string::npos)
      << refusal();
  tree.replace(kCircuit, "[\"none\", \"linear\", \"yarn\"]", "[\"none\", \"quadratic\"]");
  EXPECT_NE(refusal().find("error: 'quadratic' is not a word of 'frequency_scaling' [E030]"),
            std::string::npos)
      << refusal();
}

TEST(CircuitSizes, F12_E033_NumbersAreFinite) {
  expectRefusal("\"epsilon\": ", "\"epsilon\" }", "1e300 }",
                "number 'epsilon' of op 'blk.0.attn_norm' is inf, expected a finite binary32 value "
                "[E033]");
}

TEST(CircuitSizes, F12_E033_VocabularyAndContextAreBounded) {
  expectRefusal("  \"vocabulary\": ", "\"vocabulary\"", "0",
                "the vocabulary is 0, expected 1 to 2147483647 [E033]");
  expectRefusal("\"context_length\": ", "\"context\"", "4294967296",
                "the context length is 4294967296, expected 1 to 2147483647 [E033]");
}

TEST(CircuitSizes, F12_E033_TheKvStateIsBounded) {
  expectRefusal("\"storage\": \"f16\", \"kv_heads\": ", "\"kv_heads\"", "65537",
                "the number of KV heads is 65537, expected 1 to 65536 [E033]");
  expectRefusal("\"kv_heads\": \"kv_heads\", \"head_dim\": ", "\"head_dim\"", "0",
                "the size of a head is 0, expected 1 to 65536 [E033]");
  expectRefusal("\"window\": ", "0 }", "-1 }", "the window is -1, expected 0 to 2147483647 [E033]");
}

TEST(CircuitSizes, F12_E202_AGroupOfAnUnknownStorageIsRefusedAtItsPlace) {
  const DataTree tree;
  tree.replace(kCircuit, "\"storage\": \"f16\"", "\"storage\": \"f17\"");
  const Catalog catalog = tree.load();
  try {
    compileTiny(catalog, "portable");
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error &error) {
    EXPECT_EQ(error.diagnostics()[0].code, "E202");
    EXPECT_EQ(tree.relative(error.diagnostics()[0].location.file), kCircuit);
    EXPECT_GT(error.diagnostics()[0].location.line, 1u);
  }
}

} // namespace
} // namespace writ::test
