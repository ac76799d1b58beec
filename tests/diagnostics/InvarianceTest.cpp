// What a contract is invariant under follows from its fields. Each rule has a word that breaks and
// a neighbour that does not, so that neither answer can come about by itself.
#include "compiler/Resolve/Invariance.h"
#include "compiler/Resolve/ReadCatalog.h"
#include "tests/diagnostics/EditedTree.h"

#include <algorithm>
#include <set>

using namespace writ;
using writ::test::EditedTree;
using writ::test::kInvariance;
using Value = EditedTree::Value;
using Names = std::vector<std::string>;

namespace {

const char *const kAttention = "attention_f16_kv_tiles32_chunks256_v0";
const char *const kLinear = "linear_f32_v0";
const Names kAll = {"run", "threads", "batch", "chunking", "isa", "device", "compiler"};

/// The dimensions that something breaks, in the order of the rules.
Names broken(const Catalog &catalog, const Contract &contract) {
  const ContractInvariance derived = deriveInvariance(catalog, contract);
  Names names;
  for (const std::string &dimension : catalog.invariance().dimensionNames())
    if (!derived.holds(dimension))
      names.push_back(dimension);
  return names;
}

/// A contract with another word in a field ("partition/kind"), which the reference need not know.
Contract altered(const Catalog &catalog, const std::string &id, const std::string &field,
                 const std::string &word) {
  const std::string file = catalog.contracts().at(id).json.location().file;
  Value json = Value::parse(readFile(file));
  json.at(Value::json_pointer("/" + field)) = word;
  return readContract(parseJson(json.dump(1), file));
}

/// What then is broken.
Names brokenWith(const Catalog &catalog, const std::string &id, const std::string &field,
                 const std::string &word) {
  return broken(catalog, altered(catalog, id, field, word));
}

/// The contract whose bits depend on the number of workers.
const char *const kThreadVariant = "f16_online_fp32_merge";

TEST(Invariance, S1_S2_S3_S4_S5_S6_S7_S8_EveryContractOfThePortableProfilesDerivesAll) {
  const Catalog catalog = EditedTree().load();
  EXPECT_EQ(catalog.invariance().dimensionNames(), kAll);
  std::set<std::string> obligations, contracts;
  for (const InvarianceDimension &dimension : catalog.invariance().dimensions)
    obligations.insert(dimension.obligations.begin(), dimension.obligations.end());
  EXPECT_EQ(obligations, (std::set<std::string>{"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8"}));
  for (const char *profile : {"portable", "f32"})
    for (const ProfileRule &rule : catalog.profiles().at(profile).rules)
      contracts.insert(rule.contract);
  ASSERT_GT(contracts.size(), 40u);
  for (const std::string &id : contracts)
    EXPECT_EQ(broken(catalog, catalog.contracts().at(id)), Names()) << id;
}

TEST(Invariance, C6_S1_APartitionByWorkersBreaksThreadsFromItsThresholdOn) {
  EditedTree tree;
  const std::string id = kThreadVariant, file = "contracts/attention/" + id + ".json";
  const Catalog catalog = tree.load();
  EXPECT_EQ(broken(catalog, catalog.contracts().at(id)), Names{"threads"});
  const ContractInvariance derived = deriveInvariance(catalog, catalog.contracts().at(id));
  const std::vector<const FieldInvariance *> against = derived.against("threads");
  ASSERT_EQ(against.size(), 1u);
  EXPECT_EQ(against[0]->field, "partition.kind");
  EXPECT_EQ(against[0]->value, "kv_chunks_by_workers");
  EXPECT_EQ(against[0]->condition(), "kv_len >= 512");
  EXPECT_EQ(tree.relative(toString(against[0]->location)),
            file + ":" + tree.position(file, "\"kv_chunks_by_workers\""));
  // Without the workers nothing is left that breaks, whatever the threshold.
  for (const char *kind : {"kv_chunks_fixed", "none"})
    EXPECT_EQ(brokenWith(catalog, id, "partition/kind", kind), Names()) << kind;
}

TEST(Invariance, C5_S1_TheThresholdIsTheContracts) {
  EditedTree tree;
  const std::string id = kThreadVariant, file = "contracts/attention/" + id + ".json";
  tree.replace(file, "\"threshold\": 512", "\"threshold\": 4096");
  const Catalog catalog = tree.load();
  const ContractInvariance derived = deriveInvariance(catalog, catalog.contracts().at(id));
  EXPECT_EQ(derived.against("threads").at(0)->condition(), "kv_len >= 4096");
}

// Positive and negative control of every rule that the project's own data hold.
TEST(Invariance, S1_S2_S3_S4_S5_S6_S7_S8_EachWordThatBreaksIsSeenAndItsNeighbourIsNot) {
  EditedTree tree;
  const Catalog catalog = tree.load();
  std::set<std::string> seen;
  for (const auto &[list, rules] : catalog.invariance().lists)
    for (const auto &[word, causes] : rules.words) {
      Names breaks;
      for (const InvarianceCause &cause : causes)
        breaks.insert(breaks.end(), cause.breaks.begin(), cause.breaks.end());
      for (const auto &[id, contract] : catalog.contracts()) {
        if (!contract.parts.empty()) // its fields are those of its parts
          continue;
        const Json &fields = catalog.vocabulary().at("contract_fields").at(contract.family);
        std::string path;
        for (const Json::Member &field : fields.members())
          if (field.value.asString() == list && findField(contract.json, field.key))
            path = field.key;
        if (path.empty() || !broken(catalog, contract).empty())
          continue;
        std::replace(path.begin(), path.end(), '.', '/');
        EXPECT_EQ(brokenWith(catalog, id, path, word), breaks) << list << ": " << word;
        seen.insert(list + (breaks.empty() ? " holds" : " breaks"));
        break;
      }
    }
  for (const char *list : {"precision", "reduction", "subnormal", "partition_kind"})
    for (const char *answer : {" holds", " breaks"})
      EXPECT_TRUE(seen.contains(std::string(list) + answer)) << list << answer;
}

TEST(Invariance, S2_S3_AnOrderThatTheNumberOfRowsDecidesBreaksBatchAndChunking) {
  EditedTree tree;
  tree.addWord("reduction_order", "by_rows", {"batch", "chunking"});
  tree.addRule("reduction_order", "by_rows", {"batch", "chunking"});
  const Value parts = {
      {"accumulator", "fp32"}, {"multiply_add", "fma"}, {"order", "by_rows"}, {"merge", "none"}};
  tree.addWord("reduction", "sum_f32_fma_by_rows", {"batch", "chunking"}, parts);
  const Catalog catalog = tree.load();
  const Contract byRows = altered(catalog, kLinear, "reduction", "sum_f32_fma_by_rows");
  EXPECT_EQ(broken(catalog, byRows), (Names{"batch", "chunking"}));
  EXPECT_EQ(brokenWith(catalog, kLinear, "reduction", "sum_f32_fma_segments8"), Names());
  const ContractInvariance derived = deriveInvariance(catalog, byRows);
  EXPECT_EQ(derived.against("batch").at(0)->field, "reduction");
  EXPECT_EQ(derived.against("batch").at(0)->because, "its order is 'by_rows': it is so");
  EXPECT_EQ(derived.against("batch").at(0)->condition(), "");
}

TEST(Invariance, S4_S5_S8_AFunctionIsItsStepsOrSaysWhatItBreaks) {
  EditedTree tree;
  tree.addWord("function", "exp_of_libm", {"isa", "device", "compiler"});
  EXPECT_NE(tree.fault().find("word 'exp_of_libm' of 'function' has no rule of invariance"),
            std::string::npos)
      << tree.fault();
  tree.addRule("function", "exp_of_libm", {"isa", "device", "compiler"});
  const Catalog catalog = tree.load();
  EXPECT_EQ(brokenWith(catalog, kAttention, "exponential", "exp_of_libm"),
            (Names{"isa", "device", "compiler"}));
  EXPECT_EQ(brokenWith(catalog, kAttention, "exponential", "exp_f32_v0"), Names());
  tree.edit("contracts/functions.json",
            [](Value &json) { json["functions"][0]["name"] = "other"; });
  EXPECT_NE(tree.fault().find("word 'exp_f32_v0' of 'function' has no rule of invariance"),
            std::string::npos)
      << tree.fault();
}

TEST(Invariance, S6_S7_WhatReadsUnseenPagesBreaksTheSameCallAgain) {
  EditedTree tree;
  tree.addWord("unseen", "weighted_zero", {"run"});
  tree.addRule("unseen", "weighted_zero", {"run"});
  const Catalog catalog = tree.load();
  EXPECT_EQ(brokenWith(catalog, kAttention, "unseen", "weighted_zero"), Names{"run"});
  EXPECT_EQ(brokenWith(catalog, kAttention, "unseen", "skipped"), Names());
}

TEST(Invariance, S1_AConditionWhoseNumberIsNotThereAlwaysHolds) {
  EditedTree tree;
  const std::string id = kThreadVariant;
  tree.edit(kInvariance, [](Value &json) {
    json["words"]["partition_kind"]["breaks"]["kv_chunks_by_workers"]["from"]["field"] =
        "partition.tile";
  });
  const Catalog catalog = tree.load();
  const ContractInvariance derived = deriveInvariance(catalog, catalog.contracts().at(id));
  EXPECT_EQ(derived.against("threads").at(0)->condition(), "");
}

/// Two ops of one place, and one of another, as the layers of a circuit give them.
std::vector<Requirement> requirements(const std::string &contract) {
  std::vector<Requirement> all;
  for (const char *name : {"blk.0.attention", "blk.1.attention", "blk.0.residual"}) {
    Requirement requirement;
    const bool isAttention = std::string(name).ends_with("attention");
    requirement.op = isAttention ? "attention" : "residual";
    requirement.name = name;
    requirement.phase = "decode";
    requirement.location = {"circuit.json", isAttention ? 14u : 20u, 7};
    requirement.contract = isAttention ? contract : "residual_f32_v0";
    all.push_back(requirement);
  }
  return all;
}

std::string refusal(const EditedTree &tree, const std::string &contract, const Names &required) {
  try {
    requireInvariance(tree.load(), requirements(contract), required);
    return "";
  } catch (const Error &error) {
    return tree.relative(error.what());
  }
}

TEST(Invariance, C6_S1_E104_ARequirementNamesTheOpTheContractAndTheField) {
  EditedTree tree;
  const std::string id = kThreadVariant, file = "contracts/attention/" + id + ".json";
  EXPECT_EQ(refusal(tree, id, {"batch", "threads", "isa"}),
            "circuit.json:14:7: error: 'attention' has contract 'f16_online_fp32_merge', which is "
            "not invariant under threads; --require asks for it (op 'blk.0.attention', decode) "
            "[E104]\n" +
                file + ":" + tree.position(file, "\"kv_chunks_by_workers\"") +
                ": note: partition.kind is 'kv_chunks_by_workers', which breaks threads where "
                "kv_len >= 512: there is one chunk for each worker, so that their number decides "
                "where a partial ends\n"
                "note: choose a profile whose contract does, or require less; `writ contracts "
                "f16_online_fp32_merge` shows every field\n");
  EXPECT_EQ(refusal(tree, id, {"run", "batch", "chunking", "isa", "device", "compiler"}), "");
  EXPECT_EQ(refusal(tree, id, {}), "");
  EXPECT_EQ(refusal(tree, "attention_f16_kv_tiles32_chunks256_v0", kAll), "");
}

TEST(Invariance, S4_S8_E104_SeveralFieldsHaveANoteEach) {
  EditedTree tree;
  const std::string id = kThreadVariant, file = "contracts/attention/" + id + ".json";
  tree.replace(file, "\"subnormal\": \"kept\"", "\"subnormal\": \"flushed\"");
  tree.replace(file, "\"q_compute\": \"fp16_rounded\"",
               "\"q_compute\": \"implementation_defined\"");
  const std::string text = refusal(tree, id, {"compiler", "isa"});
  EXPECT_NE(text.find("which is not invariant under isa, compiler; --require asks for it"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find(file + ":" + tree.position(file, "\"implementation_defined\"") +
                ": note: q_compute is 'implementation_defined', which breaks isa, compiler: "),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(file + ":" + tree.position(file, "\"flushed\"") +
                      ": note: exceptional.subnormal is 'flushed', which breaks isa, compiler: "),
            std::string::npos)
      << text;
}

TEST(Invariance, C6_S1_E127_AMapWhoseSchedulingAltersOrderNeedsAContractThatLeavesItOpen) {
  const std::string map = "kernel_maps/linear/linear_f32.json";
  EditedTree tree;
  tree.replace(map, "\"scheduling_alters_order\": false", "\"scheduling_alters_order\": true");
  const std::string contract = "contracts/linear/linear_f32_v0.json";
  EXPECT_EQ(tree.fault(), map + ":" + tree.position(map, "true\n") +
                              ": error: scheduling alters the order of 'linear_f32', but its "
                              "contract 'linear_f32_v0' is invariant under run, threads [E127]\n" +
                              contract + ":" + tree.position(contract, "\"linear_f32_v0\"") +
                              ": note: the contract stands here; the worker that comes first "
                              "decides what is added first\n");
  tree.replace(contract, "\"sum_f32_fma_segments8\"", "\"implementation_defined\"");
  EXPECT_EQ(tree.fault(), "");
}

TEST(Invariance, C6_E051_ANameThatIsNoDimensionIsRefused) {
  const Catalog catalog = EditedTree().load();
  EXPECT_NO_THROW(checkDimensionNames(catalog, kAll));
  try {
    checkDimensionNames(catalog, {"threads", "speed"});
    FAIL() << "'speed' was taken";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "--require: error: 'speed' is not a dimension of invariance [E051]\n"
                 "note: dimensions: 'run', 'threads', 'batch', 'chunking', 'isa', 'device', "
                 "'compiler'\n");
  }
}

} // namespace
