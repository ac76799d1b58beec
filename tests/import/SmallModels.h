//===- SmallModels.h - complete model files of some kilobytes -------------===//
//
// What `writ compile` takes, as small as its families allow: every key and tensor, and a tokenizer
// of each kind. Their weights are zero.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/import/GgufBuilder.h"

namespace writ::test {

namespace detail {

inline constexpr int64_t width = 32, ffn = 32, headDim = 16, heads = 4, kvHeads = 2;

inline void addSizes(GgufBuilder &builder, const std::string &family) {
  builder.add("general.architecture", family).add("general.name", "small");
  builder.add("general.quantization_version", uint32_t{2});
  auto number = [&](const char *key, int64_t value) {
    builder.add(family + "." + key, static_cast<uint32_t>(value));
  };
  number("embedding_length", width);
  number("feed_forward_length", ffn);
  number("attention.head_count", heads);
  number("attention.head_count_kv", kvHeads);
  number("attention.key_length", headDim);
  number("rope.dimension_count", headDim);
  number("context_length", 64);
  builder.add(family + ".rope.freq_base", 10000.0f);
  builder.add(family + ".attention.layer_norm_rms_epsilon", 0x1p-17f);
}

/// The tensors of one layer; `more` are the names of its vectors beside the two norms.
inline void addLayer(GgufBuilder &builder, int64_t layer,
                     const std::vector<std::pair<const char *, int64_t>> &more = {}) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  auto matrix = [&](const char *name, int64_t rows, int64_t columns) {
    builder.tensor(prefix + name + ".weight", "q4_1", {rows, columns});
  };
  builder.tensor(prefix + "attn_norm.weight", "f32", {width});
  matrix("attn_q", heads * headDim, width);
  matrix("attn_k", kvHeads * headDim, width);
  matrix("attn_v", kvHeads * headDim, width);
  matrix("attn_output", width, heads * headDim);
  builder.tensor(prefix + "ffn_norm.weight", "f32", {width});
  matrix("ffn_gate", ffn, width);
  matrix("ffn_up", ffn, width);
  matrix("ffn_down", width, ffn);
  for (const auto &[name, extent] : more)
    builder.tensor(prefix + name + ".weight", "f32", {extent});
}

inline void addTokens(GgufBuilder &builder, const char *model,
                      const std::vector<std::string> &tokens, const std::vector<int32_t> &types) {
  builder.add("tokenizer.ggml.model", model).add("tokenizer.ggml.tokens", tokens);
  builder.add("tokenizer.ggml.token_type", types);
  builder.add("tokenizer.ggml.bos_token_id", uint32_t{1});
  builder.add("tokenizer.ggml.eos_token_id", uint32_t{2});
  builder.add("tokenizer.ggml.add_bos_token", false);
  builder.tensor("token_embd.weight", "q8_0", {static_cast<int64_t>(tokens.size()), width});
  builder.tensor("output_norm.weight", "f32", {width});
}

} // namespace detail

/// One kind of layer, byte-level BPE with a template.
inline GgufBuilder smallLlama() {
  GgufBuilder builder;
  detail::addSizes(builder, "llama");
  builder.add("llama.block_count", uint32_t{1}).add("llama.vocab_size", uint32_t{8});
  builder.add("llama.attention.causal", true).add("llama.rope.scaling.type", "none");
  detail::addTokens(builder, "gpt2", {"<|endoftext|>", "<s>", "</s>", "a", "b", "c", "ab", "abc"},
                    {3, 3, 3, 1, 1, 1, 1, 1});
  builder.add("tokenizer.ggml.pre", "smollm");
  builder.add("tokenizer.ggml.merges", std::vector<std::string>{"a b", "ab c"});
  builder.add("tokenizer.chat_template", "{{ messages }}");
  detail::addLayer(builder, 0);
  return builder;
}

/// Two kinds of layers, pieces with scores and byte tokens.
inline GgufBuilder smallGemma() {
  GgufBuilder builder;
  detail::addSizes(builder, "gemma3");
  builder.add("gemma3.block_count", uint32_t{2}).add("gemma3.rope.freq_base_swa", 5000.0f);
  builder.add("gemma3.attention.sliding_window", uint32_t{16});
  builder.add("gemma3.attention.sliding_window_pattern", uint32_t{2});
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>", "\xe2\x96\x81", "a", "ab"};
  std::vector<int32_t> types = {2, 3, 3, 1, 1, 1};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char digits[] = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">");
    types.push_back(6);
  }
  detail::addTokens(builder, "llama", tokens, types);
  builder.add("tokenizer.ggml.scores", std::vector<float>(tokens.size(), -1));
  builder.add("tokenizer.ggml.unknown_token_id", uint32_t{0});
  builder.add("tokenizer.ggml.add_space_prefix", false);
  for (int64_t layer : {0, 1})
    detail::addLayer(builder, layer,
                     {{"attn_q_norm", detail::headDim},
                      {"attn_k_norm", detail::headDim},
                      {"post_attention_norm", detail::width},
                      {"post_ffw_norm", detail::width}});
  return builder;
}

} // namespace writ::test
