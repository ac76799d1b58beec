// A contract says all of its arithmetic, or it is refused where it falls short.
#include "tests/diagnostics/EditedTree.h"

#include <algorithm>

using writ::test::EditedTree;

namespace {

const std::string kContract = "contracts/gate/silu_gate_f32_v0.json";

std::string firstLine(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

TEST(IncompleteContract, C2_E012_AFieldThatIsNotThere) {
  EditedTree tree;
  tree.replace(kContract, "\"product\": \"fp32_mul\",", "");
  EXPECT_EQ(firstLine(tree.fault()), kContract + ":1:1: error: missing field 'product' [E012]");
}

TEST(IncompleteContract, C2_E012_AnExceptionalValueThatIsNotThere) {
  EditedTree tree;
  tree.edit(kContract, [](EditedTree::Value &json) { json["exceptional"].erase("nan"); });
  EXPECT_EQ(firstLine(tree.fault()), kContract + ":" +
                                         tree.position(kContract, "{\n  \"infinity\"") +
                                         ": error: missing field 'nan' [E012]");
}

TEST(IncompleteContract, C2_E012_AnOperandThatItSaysNothingOf) {
  EditedTree tree;
  tree.edit(kContract, [](EditedTree::Value &json) { json["operands"].erase("up"); });
  EXPECT_EQ(firstLine(tree.fault()), kContract + ":" +
                                         tree.position(kContract, "{\n  \"gate\": {") +
                                         ": error: missing field 'up' [E012]");
}

// A family whose schema leaves an operand out: the vocabulary still asks for it.
TEST(IncompleteContract, C2_E301_AnOperandThatTheSchemaForgets) {
  EditedTree tree;
  tree.edit("contracts/schema/contract.json", [](EditedTree::Value &json) {
    auto &required = json["definitions"]["gate"]["properties"]["operands"]["required"];
    required.erase(std::find(required.begin(), required.end(), "up"));
  });
  tree.edit(kContract, [](EditedTree::Value &json) { json["operands"].erase("up"); });
  EXPECT_EQ(firstLine(tree.fault()), kContract + ":" +
                                         tree.position(kContract, "{\n  \"gate\": {") +
                                         ": error: contract 'silu_gate_f32_v0' says nothing of "
                                         "operand 'up' [E301]");
}

TEST(IncompleteContract, C2_E014_AnOperandThatTheFamilyDoesNotHave) {
  EditedTree tree;
  tree.edit(kContract, [](EditedTree::Value &json) {
    json["operands"]["bias"] = {{"storage", "f32"}};
  });
  EXPECT_EQ(firstLine(tree.fault()), kContract + ":" + tree.position(kContract, "\"bias\"") +
                                         ": error: unknown field 'bias' [E014]");
}

TEST(IncompleteContract, C2_E014_AFieldThatNobodyReads) {
  EditedTree tree;
  tree.replace(kContract, "\"product\":", "\"rounding\": \"nearest_even\",\n  \"product\":");
  EXPECT_EQ(firstLine(tree.fault()).substr(0, (kContract + ":").size()), kContract + ":");
  EXPECT_NE(tree.fault().find(tree.position(kContract, "\"rounding\"") +
                              ": error: unknown field 'rounding'"),
            std::string::npos)
      << tree.fault();
}

} // namespace
