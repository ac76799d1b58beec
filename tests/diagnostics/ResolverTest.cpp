// Exactly one provider, or an error that teaches.
#include "compiler/Resolve/Resolver.h"
#include "tests/diagnostics/DataTree.h"

using namespace writ;
using writ::test::DataTree;

namespace {

Requirement linear(const std::string &weight, int64_t k) {
  Requirement requirement;
  requirement.op = "linear";
  requirement.name = "blk.0.attn_q";
  requirement.phase = "decode";
  requirement.contract = "linear_q4_1_i8_b32_v0";
  requirement.storage = {{"activation", "i8_b32_sf32"}, {"weight", weight}, {"out", "f32"}};
  requirement.dimensions = {{"k", k}, {"n", 100}};
  requirement.location = {"circuit.json", 14, 7};
  return requirement;
}

template <typename Call> std::string faultOf(const DataTree &tree, Call call) {
  try {
    call();
    return "";
  } catch (const Error &error) {
    return tree.relative(error.what());
  }
}

TEST(Resolver, C3_ExactlyOneProviderIsTaken) {
  DataTree tree;
  const Resolution resolution = resolve(tree.load(), linear("q4_1", 64));
  EXPECT_EQ(resolution.provider, "linear_q4_1_i8_b32");
  EXPECT_EQ(resolution.contract, "linear_q4_1_i8_b32_v0");
  EXPECT_EQ(resolution.threaded, "linear_q4_1_i8_b32_threaded");
}

TEST(Resolver, C3_NoProviderNamesTheNearestAndTheFieldsThatDiffer) {
  DataTree tree;
  const Catalog catalog = tree.load();
  const std::string map = "kernel_maps/linear/linear_q4_1_i8_b32.json";
  EXPECT_EQ(
      faultOf(tree, [&] { resolve(catalog, linear("q4_k", 64)); }),
      "circuit.json:14:7: error: no kernel provides 'linear' for {activation=i8_b32_sf32, "
      "weight=q4_k, out=f32, k=64, n=100, contract=linear_q4_1_i8_b32_v0, target=cpu} (op "
      "'blk.0.attn_q', decode) [E101]\n" +
          map + ":" + tree.position(map, "\"linear_q4_1_i8_b32\"") +
          ": note: nearest provider 'linear_q4_1_i8_b32' differs in weight: weight is q4_k, it "
          "takes q4_1\n"
          "note: add a provider or change the circuit; there is no fallback\n");
}

TEST(Resolver, C3_AShapeThatNoKernelTakesIsRefused) {
  DataTree tree;
  const Catalog catalog = tree.load();
  EXPECT_NE(faultOf(tree, [&] { resolve(catalog, linear("q4_1", 33)); })
                .find("differs in k: k is 33, it takes at least 32, multiples of 32"),
            std::string::npos);
}

TEST(Resolver, C3_AKernelThatTakesOnlySomeRowCountsDoesNotMatch) {
  DataTree tree;
  const std::string map = "kernel_maps/linear/linear_q4_1_i8_b32.json";
  tree.replace(map, "\"rows\": { \"min\": 1 }", "\"rows\": { \"min\": 1, \"max\": 8 }");
  const Catalog catalog = tree.load();
  EXPECT_NE(faultOf(tree, [&] { resolve(catalog, linear("q4_1", 64)); })
                .find("differs in rows: rows may be any number, it takes only some"),
            std::string::npos);
}

TEST(Resolver, C3_ALooseContractIsRefused) {
  DataTree tree;
  const Catalog catalog = tree.load();
  const Profile &profile = catalog.profiles().at("portable");
  const std::string text = faultOf(tree, [&] {
    contractOf(catalog, profile, "linear", {{"weight", "q4_1"}}, "strict", {"circuit.json", 3, 9});
  });
  EXPECT_EQ(
      text.substr(0, text.find('\n')),
      "circuit.json:3:9: error: 'strict' is not a contract id: an id names a complete semantic "
      "profile [E302]");
}

TEST(Resolver, C3_ACircuitsContractMustBeTheProfiles) {
  DataTree tree;
  const Catalog catalog = tree.load();
  const Profile &profile = catalog.profiles().at("portable");
  const std::map<std::string, std::string> fields = {{"weight", "q4_1"}};
  EXPECT_EQ(contractOf(catalog, profile, "linear", fields, "profile", {}), "linear_q4_1_i8_b32_v0");
  EXPECT_EQ(contractOf(catalog, profile, "linear", fields, "linear_q4_1_i8_b32_v0", {}),
            "linear_q4_1_i8_b32_v0");
  const std::string text = faultOf(tree, [&] {
    contractOf(catalog, profile, "linear", fields, "linear_q8_0_i8_b32_v0", {"circuit.json", 3, 9});
  });
  EXPECT_EQ(
      text.substr(0, text.find('\n')),
      "circuit.json:3:9: error: 'linear' requires contract 'linear_q8_0_i8_b32_v0', but profile "
      "'portable' gives 'linear_q4_1_i8_b32_v0' [E110]");
}

TEST(Resolver, C3_AProfileWithoutARuleIsRefused) {
  DataTree tree;
  const Catalog catalog = tree.load();
  const Profile &profile = catalog.profiles().at("portable");
  const std::string text = faultOf(tree, [&] {
    contractOf(catalog, profile, "linear", {{"weight", "iq1_s"}}, "profile",
               {"circuit.json", 3, 9});
  });
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "circuit.json:3:9: error: profile 'portable' has no contract for 'linear' with "
            "{weight=iq1_s} [E111]");
}

TEST(Resolver, C3_TwoRulesThatFitAreRefused) {
  DataTree tree;
  const std::string file = "contracts/profiles/portable.json";
  tree.replace(file, "\"rules\": [",
               "\"rules\": [ { \"op\": \"linear\", \"match\": {}, \"contract\": "
               "\"linear_q4_1_i8_b32_v0\" },");
  const Catalog catalog = tree.load();
  const std::string text = faultOf(tree, [&] {
    contractOf(catalog, catalog.profiles().at("portable"), "linear", {{"weight", "q4_1"}},
               "profile", {"circuit.json", 3, 9});
  });
  EXPECT_EQ(
      text.substr(0, text.find('\n')),
      "circuit.json:3:9: error: profile 'portable' has 2 rules for 'linear' with {weight=q4_1}; "
      "exactly one must fit [E112]");
}

} // namespace
