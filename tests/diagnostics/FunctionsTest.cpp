// functions.json is read as every other data file: by its schema, and for what no schema sees. Each
// fault has its code, its place and its text.
#include "tests/diagnostics/EditedTree.h"

using writ::test::EditedTree;
using Value = EditedTree::Value;

namespace {

const std::string kFile = "contracts/functions.json";
const std::string kSchema = "contracts/schema/functions.json";

Value &functionOf(Value &json, const std::string &name) {
  for (Value &function : json["functions"])
    if (function["name"] == name)
      return function;
  throw std::runtime_error("no function " + name);
}

/// What loading says after `change` of one function; the position is that of `at`.
template <typename Change> struct Fault {
  EditedTree tree;
  std::string said;
  Fault(const std::string &name, Change change) {
    tree.edit(kFile, [&](Value &json) { change(functionOf(json, name)); });
    said = tree.fault();
  }
};

/// The first line that loading says.
std::string firstLine(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

#define EXPECT_FAULT(name, change, at, text)                                                       \
  do {                                                                                             \
    const Fault fault(name, change);                                                               \
    EXPECT_EQ(firstLine(fault.said),                                                               \
              kFile + ":" + fault.tree.position(kFile, at) + ": error: " + (text));                \
  } while (false)

TEST(Functions, C1_TheProjectsOwnAreWithoutFault) {
  EXPECT_EQ(EditedTree().fault(), "");
}

// The schema.

TEST(Functions, C1_E012_AMissingFieldIsNamed) {
  for (const char *field : {"name", "signature", "summary", "exact", "constants", "special",
                            "steps", "max_ulp", "measured_over"}) {
    const Fault fault("silu_f32_v0", [&](Value &function) { function.erase(field); });
    EXPECT_NE(fault.said.find(std::string("'") + field + "'"), std::string::npos) << fault.said;
    EXPECT_NE(fault.said.find("[E012]"), std::string::npos) << fault.said;
    EXPECT_EQ(fault.said.find(kFile + ":"), 0u) << fault.said;
  }
}

TEST(Functions, C1_E014_AFieldThatTheSchemaDoesNotKnow) {
  const Fault fault("silu_f32_v0", [](Value &function) { function["maximum"] = 2; });
  EXPECT_NE(fault.said.find("'maximum'"), std::string::npos) << fault.said;
  EXPECT_NE(fault.said.find("[E014]"), std::string::npos) << fault.said;
}

TEST(Functions, C1_E015_AConstantThatIsNotHexadecimal) {
  for (const char *text : {"1.5", "0x1.8", "0x2p+0", "pi", "0x3f35", ""}) {
    const Fault fault("exp_f32_v0", [&](Value &function) { function["constants"]["C1"] = text; });
    EXPECT_NE(fault.said.find("[E015]"), std::string::npos) << text << ": " << fault.said;
    EXPECT_EQ(fault.said.find(kFile + ":"), 0u) << fault.said;
  }
}

TEST(Functions, C1_E015_ASignatureOrAStepThatHasNotItsForm) {
  for (const auto &[field, text] :
       {std::pair("signature", "binary16 x -> binary32 y"), {"signature", "binary32 x"}}) {
    const Fault fault("exp_f32_v0", [&, f = field, t = text](Value &function) { function[f] = t; });
    EXPECT_NE(fault.said.find("[E015]"), std::string::npos) << fault.said;
  }
  const Fault fault("exp_f32_v0", [](Value &function) { function["steps"][0] = "rint(x)"; });
  EXPECT_NE(fault.said.find("[E015]"), std::string::npos) << fault.said;
}

TEST(Functions, C1_E015_ALeastArgumentNeedsTheErrorBelowIt) {
  const Fault fault("silu_f32_v0", [](Value &function) { function.erase("max_error_below"); });
  EXPECT_NE(fault.said.find("max_error_below"), std::string::npos) << fault.said;
}

// What no schema sees.

TEST(Functions, C1_E306_AStepThatCannotBeRead) {
  EXPECT_FAULT(
      "silu_f32_v0", [](Value &function) { function["steps"][1] = "y = rn(x / rn(1 + e)"; },
      "\"y = rn(x / rn(1 + e)\"",
      "function 'silu_f32_v0': step 'rn(x / rn(1 + e)' cannot be read at '' [E306]");
}

TEST(Functions, C1_E306_AnOperationThatTheStepsDoNotHave) {
  const Fault fault("silu_f32_v0",
                    [](Value &function) { function["steps"][0] = "e = exp_f32_v1(-x)"; });
  EXPECT_EQ(fault.said, kFile + ":" + fault.tree.position(kFile, "\"e = exp_f32_v1(-x)\"") +
                            ": error: function 'silu_f32_v0': 'exp_f32_v1' is neither an operation "
                            "of steps nor a function [E306]\nnote: nearest: 'exp_f32_v0'\n");
}

TEST(Functions, C1_E306_AnOperationWithOtherOperands) {
  EXPECT_FAULT(
      "exp_f32_v0", [](Value &function) { function["steps"][1] = "r = fma(n, -ln2_hi)"; },
      "\"r = fma(n, -ln2_hi)\"", "function 'exp_f32_v0': 'fma' has 2 operands, it takes 3 [E306]");
}

TEST(Functions, C1_E306_ANameThatHasNoValueYet) {
  EXPECT_FAULT(
      "exp_f32_v0", [](Value &function) { function["steps"][0] = "n = rint(rn(r * log2e))"; },
      "\"n = rint(rn(r * log2e))\"",
      "function 'exp_f32_v0' reads 'r', which has no value here [E306]");
}

TEST(Functions, C1_E306_ArithmeticThatIsNotRounded) {
  EXPECT_FAULT(
      "silu_f32_v0", [](Value &function) { function["steps"][1] = "y = rn(x / (1 + e))"; },
      "\"y = rn(x / (1 + e))\"",
      "function 'silu_f32_v0': '+' of numbers stands in no rounding of its own [E306]");
  EXPECT_FAULT(
      "silu_f32_v0", [](Value &function) { function["steps"][1] = "y = x / rn(1 + e)"; },
      "\"y = x / rn(1 + e)\"",
      "function 'silu_f32_v0': '/' of numbers stands in no rounding of its own [E306]");
  EXPECT_FAULT(
      "silu_f32_v0", [](Value &function) { function["steps"][1] = "y = rn64(x / rn(1 + e))"; },
      "\"y = rn64(x / rn(1 + e))\"",
      "function 'silu_f32_v0' is one of binary32: its roundings are 'rn', not 'rn64' [E306]");
  EXPECT_FAULT(
      "silu_f32_v0", [](Value &function) { function["steps"][1] = "y = rn(-rn(1 + e))"; },
      "\"y = rn(-rn(1 + e))\"",
      "function 'silu_f32_v0': 'rn' stands around one of + - * / of numbers [E306]");
}

TEST(Functions, C1_E306_ANumberWhereAnIntegerIsNeeded) {
  EXPECT_FAULT(
      "log_f32_v0", [](Value &function) { function["steps"][2] = "i = int32(x)"; },
      "\"i = int32(x)\"",
      "function 'log_f32_v0': 'int32' needs an integer, but has a number [E306]");
  EXPECT_FAULT(
      "exp_f32_v0", [](Value &function) { function["special"][1] = "rn(x - overflow): inf"; },
      "\"rn(x - overflow): inf\"",
      "function 'exp_f32_v0': 'special case' needs an integer, but has a number [E306]");
}

TEST(Functions, C1_E306_AResultThatNoStepGives) {
  EXPECT_FAULT(
      "silu_f32_v0", [](Value &function) { function["signature"] = "binary32 x -> binary32 z"; },
      "\"binary32 x -> binary32 z\"",
      "function 'silu_f32_v0' has the result 'z', which no step gives [E306]");
}

TEST(Functions, C1_E306_FunctionsThatCallEachOther) {
  const Fault fault("exp_f32_v0", [](Value &function) {
    function["steps"][0] = "n = rint(rn(silu_f32_v0(x) * log2e))";
  });
  EXPECT_EQ(firstLine(fault.said),
            kFile + ":" + fault.tree.position(kFile, "\"n = rint(rn(silu_f32_v0(x) * log2e))\"") +
                ": error: function 'exp_f32_v0' calls itself: exp_f32_v0 -> silu_f32_v0 -> "
                "exp_f32_v0 [E306]");
}

TEST(Functions, C1_E306_AFunctionThatIsDeclaredTwice) {
  EditedTree tree;
  tree.edit(kFile, [](Value &json) { json["functions"].push_back(json["functions"][0]); });
  EXPECT_NE(tree.fault().find("function 'exp_f32_v0' is declared twice [E306]"), std::string::npos)
      << tree.fault();
}

TEST(Functions, C1_E306_AConstantThatTheTypeDoesNotHave) {
  EXPECT_FAULT(
      "exp_f32_v0", [](Value &function) { function["constants"]["C1"] = "0x1.555555555p-3"; },
      "\"0x1.555555555p-3\"",
      "constant 'C1' of 'exp_f32_v0' is 0x1.555555555p-3, which is not a binary32 value [E306]");
}

TEST(Functions, C1_E306_AnExactFormulaOfOtherThings) {
  EXPECT_FAULT(
      "exp_f32_v0", [](Value &function) { function["exact"][0] = "exp(x) * 0.5"; },
      "\"exp(x) * 0.5\"",
      "function 'exp_f32_v0': '0.5' has no place in an exact formula: it is made of the argument, "
      "integers, pi, + - * / and 'exp', 'log', 'log1p', 'sqrt', 'sin', 'cos', 'tanh', 'erf', "
      "'erfc', 'abs' [E306]");
  const Fault fault("exp_f32_v0", [](Value &function) { function["exact"].push_back("x"); });
  EXPECT_NE(fault.said.find("function 'exp_f32_v0' has 1 results, but 2 exact formulas [E306]"),
            std::string::npos)
      << fault.said;
}

TEST(Functions, C1_E307_AConstantOrAStepThatNothingReads) {
  EXPECT_FAULT(
      "exp_f32_v0", [](Value &function) { function["constants"]["C5"] = "0x1p+0"; }, "\"C5\"",
      "constant 'C5' of 'exp_f32_v0' is read by nothing [E307]");
  EXPECT_FAULT(
      "silu_f32_v0",
      [](Value &function) { function["steps"].insert(function["steps"].begin(), "w = rn(x * x)"); },
      "\"w = rn(x * x)\"", "step 'w' of 'silu_f32_v0' is read by nothing [E307]");
  EXPECT_FAULT(
      "silu_f32_v0",
      [](Value &function) { function["steps"].insert(function["steps"].begin(), "e = rn(x * x)"); },
      "\"e = rn(x * x)\"", "step 'e' of 'silu_f32_v0' is read by nothing [E307]");
}

TEST(Functions, C1_E307_AFunctionThatNoWordNames) {
  EditedTree tree;
  tree.edit(kFile, [](Value &json) {
    Value copy = functionOf(json, "silu_f32_v0");
    copy["name"] = "silu_f32_v7";
    json["functions"].push_back(copy);
  });
  EXPECT_EQ(
      firstLine(tree.fault()),
      kFile + ":" + tree.position(kFile, "\"silu_f32_v7\"") +
          ": error: function 'silu_f32_v7' is no word of 'function', and no function calls it "
          "[E307]");
}

TEST(Functions, C2_E307_AListOfWordsThatNoFieldTakes) {
  EditedTree tree;
  tree.edit("contracts/vocabulary.json", [](Value &json) {
    json["words"]["colour"]["red"] = {{"meaning", "a word of a test"}};
  });
  tree.edit("contracts/invariance.json", [](Value &json) {
    json["words"]["colour"] = {{"why", "it is so"}, {"neutral", {"red"}}};
  });
  EXPECT_EQ(firstLine(tree.fault()), "contracts/vocabulary.json:" +
                                         tree.position("contracts/vocabulary.json", "\"colour\"") +
                                         ": error: no field takes a word of 'colour' [E307]");
}

} // namespace
