#include "tests/emit/TinyModel.h"

namespace writ::test {

void TinyModel::number(const std::string &key, int64_t value) {
  entries.push_back({key, {uint64_t(value), "u32", 0}});
}

void TinyModel::tensor(const std::string &name, const std::string &storage,
                       std::vector<int64_t> shape) {
  TensorInfo info;
  info.name = name;
  info.storage = findStorageType(storage);
  info.shape = std::move(shape);
  infos.push_back(std::move(info));
}

TinyModel::TinyModel(const Sizes &sizes) {
  filePath = "tiny.gguf";
  fileFormat = "gguf-v3";
  entries.push_back({"general.architecture", {std::string("llama"), "string", 0}});
  entries.push_back({"general.name", {std::string("tiny"), "string", 0}});
  number("llama.block_count", sizes.layers);
  number("llama.embedding_length", sizes.width);
  number("llama.attention.head_count", sizes.heads);
  number("llama.attention.head_count_kv", sizes.kvHeads);
  number("llama.feed_forward_length", sizes.ffn);
  number("llama.context_length", 128);
  entries.push_back({"llama.attention.layer_norm_rms_epsilon", {double(sizes.epsilon), "f32", 0}});

  const int64_t kv = sizes.kvHeads * (sizes.width / sizes.heads);
  tensor("token_embd.weight", "q8_0", {sizes.vocabulary, sizes.width});
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".", storage = sizes.storage(i);
    tensor(layer + "attn_norm.weight", "f32", {sizes.width});
    tensor(layer + "attn_q.weight", storage, {sizes.width, sizes.width});
    tensor(layer + "attn_k.weight", storage, {kv, sizes.width});
    tensor(layer + "attn_v.weight", storage, {kv, sizes.width});
    tensor(layer + "attn_output.weight", storage, {sizes.width, sizes.width});
    tensor(layer + "ffn_norm.weight", "f32", {sizes.width});
    tensor(layer + "ffn_gate.weight", storage, {sizes.ffn, sizes.width});
    tensor(layer + "ffn_up.weight", storage, {sizes.ffn, sizes.width});
    tensor(layer + "ffn_down.weight", storage, {sizes.width, sizes.ffn});
  }
  tensor("output_norm.weight", "f32", {sizes.width});
  buildIndexes();
}

} // namespace writ::test
