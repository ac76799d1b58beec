//===- RealModelTest.cpp - a published model file, where it is cached -----===//
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

TEST(RealModel, F12_SmolLm2IsReadWhole) {
  std::string path = cachedModel("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "not in the cache; 'scripts/fetch-model smollm2' fetches it";
  auto model = openModelFile(path);
  EXPECT_EQ(model->sha256(), "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53");
  EXPECT_EQ(*model->find("general.architecture")->asString(), "llama");
  EXPECT_EQ(model->find("llama.block_count")->asInteger(), 30);
  EXPECT_EQ(model->find("llama.embedding_length")->asInteger(), 576);
  EXPECT_EQ(model->find("llama.attention.head_count_kv")->asInteger(), 3);
  EXPECT_EQ(model->find("llama.rope.freq_base")->asNumber(), 100000.0);
  EXPECT_EQ(model->find("tokenizer.ggml.tokens")->asStrings()->size(), 49152u);
  std::map<std::string, int> storage;
  for (const TensorInfo &info : model->tensors())
    ++storage[info.storage->name];
  EXPECT_EQ(storage, (std::map<std::string, int>{{"f32", 61}, {"q4_1", 210}, {"q8_0", 1}}));
  EXPECT_EQ(model->findTensor("token_embd.weight")->shape, (std::vector<int64_t>{49152, 576}));
  EXPECT_EQ(model->findTensor("blk.29.ffn_down.weight")->shape, (std::vector<int64_t>{576, 1536}));
  EXPECT_NE(inspectText(*model).find("q4_1"), std::string::npos);
}

} // namespace
} // namespace writ
