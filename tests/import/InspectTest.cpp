//===- InspectTest.cpp - what `writ inspect` shows ------------------------===//
#include "compiler/Import/Inspect.h"
#include "tests/import/GgufBuilder.h"

#include <gtest/gtest.h>
#include <limits>

namespace writ {
namespace {

using test::bytesOf;
using test::GgufBuilder;

class Inspect : public testing::Test {
protected:
  Inspect() {
    GgufBuilder builder;
    builder.add("general.name", "tiny\x1b[31m").add("epsilon", 1e-5f);
    builder.add("tokens", std::vector<std::string>(20, "ab"));
    builder.add("sizes", std::vector<int32_t>{1, -2})
        .add("nan", std::numeric_limits<float>::quiet_NaN());
    builder.tensor("w", "q8_0", {4, 64}).tensor("n", "f32", {8}).tensor("m", "f32", {2});
    file = builder.build();
    model = openModelBytes(bytesOf(file), "m.gguf");
  }

  std::string file;
  std::unique_ptr<ModelFile> model;
};

TEST_F(Inspect, F12_TheTextIsForPeople) {
  EXPECT_EQ(inspectText(*model), R"(m.gguf: gguf-v3

metadata: 5
  general.name  string         "tiny\x1b[31m"
  epsilon       f32            1e-05
  tokens        array<string>  ["ab", "ab", "ab", "ab", … 20 in all]
  sizes         array<i32>     [1, -2]
  nan           f32            nan

tensors: 3
  w  q8_0      [4, 64]                      272 bytes
  n  f32       [8]                           32 bytes
  m  f32       [2]                            8 bytes

storage types:
  f32           2 tensors            40 bytes
  q8_0          1 tensors           272 bytes
  all           3 tensors           312 bytes
)");
}

TEST_F(Inspect, F12_TheJsonIsForScripts) {
  nlohmann::json json = inspectJson(*model);
  EXPECT_EQ(json["format"], "gguf-v3");
  EXPECT_EQ(json["bytes"], 312);
  EXPECT_EQ(
      json["metadata"][0],
      (nlohmann::json{{"key", "general.name"}, {"type", "string"}, {"value", "tiny\x1b[31m"}}));
  EXPECT_EQ(json["metadata"][2]["count"], 20);
  EXPECT_EQ(json["metadata"][2]["first"].size(), 16u);
  EXPECT_FALSE(json["metadata"][2].contains("value"));
  EXPECT_EQ(json["metadata"][3]["value"], (nlohmann::json{1, -2}));
  EXPECT_EQ(json["metadata"][4]["value"], "nan");
  EXPECT_EQ(json["tensors"][0], (nlohmann::json{{"name", "w"},
                                                {"storage", "q8_0"},
                                                {"shape", {4, 64}},
                                                {"offset", model->tensors()[0].fileOffset},
                                                {"bytes", 272}}));
  EXPECT_EQ(json["storage"],
            (nlohmann::json::array({{{"type", "f32"}, {"tensors", 2}, {"bytes", 40}},
                                    {{"type", "q8_0"}, {"tensors", 1}, {"bytes", 272}}})));
  EXPECT_NO_THROW(json.dump()) << "all strings are UTF-8";
}

} // namespace
} // namespace writ
