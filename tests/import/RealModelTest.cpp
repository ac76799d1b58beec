//===- RealModelTest.cpp - published model files, where they are cached ---===//
#include "compiler/Import/Inspect.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

namespace writ {
namespace {

std::string cachedModel(const char *name) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::string root = cache && *cache ? cache : std::string(home ? home : "") + "/.cache";
  return root + "/writ/models/" + name;
}

struct Expected {
  const char *name; ///< in scripts/models.json
  const char *file, *sha256;
  const char *architecture;
  int64_t blocks, embedding, kvHeads;
  double ropeBase;
  size_t tokens;
  std::map<std::string, int> storages; ///< of the tensors
  std::map<std::string, std::vector<int64_t>> shapes;
};
void PrintTo(const Expected &expected, std::ostream *out) {
  *out << expected.name;
}

const Expected models[] = {
    {"smollm2",
     "SmolLM2-135M-Instruct.Q4_1.gguf",
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
     "llama",
     30,
     576,
     3,
     100000.0,
     49152,
     {{"f32", 61}, {"q4_1", 210}, {"q8_0", 1}},
     {{"token_embd.weight", {49152, 576}}, {"blk.29.ffn_down.weight", {576, 1536}}}},
    {"gemma3",
     "gemma-3-270m-q4_k_m.gguf",
     "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
     "gemma3",
     18,
     640,
     1,
     1000000.0,
     262144,
     {{"f32", 109}, {"q4_k", 27}, {"q5_0", 81}, {"q6_k", 9}, {"q8_0", 10}},
     {{"token_embd.weight", {262144, 640}}, {"blk.17.attn_q_norm.weight", {256}}}},
};

class RealModel : public testing::TestWithParam<Expected> {};

TEST_P(RealModel, F12_IsReadWhole) {
  const Expected &expected = GetParam();
  std::string path = cachedModel(expected.file);
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "not in the cache; 'scripts/fetch-model " << expected.name << "' fetches it";
  auto model = openModelFile(path);
  const std::string architecture = expected.architecture;
  EXPECT_EQ(model->sha256(), expected.sha256);
  EXPECT_EQ(*model->find("general.architecture")->asString(), architecture);
  EXPECT_EQ(model->find(architecture + ".block_count")->asInteger(), expected.blocks);
  EXPECT_EQ(model->find(architecture + ".embedding_length")->asInteger(), expected.embedding);
  EXPECT_EQ(model->find(architecture + ".attention.head_count_kv")->asInteger(), expected.kvHeads);
  EXPECT_EQ(model->find(architecture + ".rope.freq_base")->asNumber(), expected.ropeBase);
  EXPECT_EQ(model->find("tokenizer.ggml.tokens")->asStrings()->size(), expected.tokens);
  std::map<std::string, int> storages;
  for (const TensorInfo &info : model->tensors())
    ++storages[info.storage->name];
  EXPECT_EQ(storages, expected.storages);
  const std::string text = inspectText(*model);
  for (const auto &[storage, count] : expected.storages)
    EXPECT_NE(text.find(storage), std::string::npos) << storage;
  for (const auto &[tensor, shape] : expected.shapes)
    EXPECT_EQ(model->findTensor(tensor)->shape, shape) << tensor;
}

INSTANTIATE_TEST_SUITE_P(, RealModel, testing::ValuesIn(models),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace writ
