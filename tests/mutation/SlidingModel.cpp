#include "tests/mutation/SlidingModel.h"

namespace writ::test {

SlidingModel::SlidingModel() {
  constexpr int64_t layers = 3, width = 64, heads = 2, kvHeads = 1, headDim = 32, ffn = 96;
  filePath = "sliding.gguf";
  fileFormat = "gguf-v3";
  entries.push_back({"general.architecture", {std::string("gemma3"), "string", 0}});
  auto number = [&](const char *key, int64_t value) {
    entries.push_back({std::string("gemma3.") + key, {uint64_t(value), "u32", 0}});
  };
  number("block_count", layers);
  number("embedding_length", width);
  number("attention.head_count", heads);
  number("attention.head_count_kv", kvHeads);
  number("attention.key_length", headDim);
  number("attention.value_length", headDim);
  number("attention.sliding_window", 16);
  number("attention.sliding_window_pattern", 2);
  number("feed_forward_length", ffn);
  number("context_length", 128);
  entries.push_back({"gemma3.attention.layer_norm_rms_epsilon", {1e-6, "f32", 0}});

  auto tensor = [&](const std::string &name, const char *storage, std::vector<int64_t> shape) {
    TensorInfo info;
    info.name = name + ".weight";
    info.storage = findStorageType(storage);
    info.shape = std::move(shape);
    infos.push_back(std::move(info));
  };
  tensor("token_embd", "q8_0", {320, width});
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    for (const char *norm : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"})
      tensor(layer + norm, "f32", {width});
    for (const char *norm : {"attn_q_norm", "attn_k_norm"})
      tensor(layer + norm, "f32", {headDim});
    tensor(layer + "attn_q", "q8_0", {heads * headDim, width});
    tensor(layer + "attn_k", "q8_0", {kvHeads * headDim, width});
    tensor(layer + "attn_v", "q8_0", {kvHeads * headDim, width});
    tensor(layer + "attn_output", "q8_0", {width, heads * headDim});
    tensor(layer + "ffn_gate", "q8_0", {ffn, width});
    tensor(layer + "ffn_up", "q8_0", {ffn, width});
    tensor(layer + "ffn_down", "q8_0", {width, ffn});
  }
  tensor("output_norm", "f32", {width});
  buildIndexes();
}

} // namespace writ::test
