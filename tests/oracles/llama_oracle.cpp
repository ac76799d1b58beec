// Asks llama.cpp what a model means: token ids, teacher-forced logits, greedy continuations.
//
// This program is an independent oracle. It shares nothing with the project's own code, links
// libllama alone and is built by scripts/setup-oracles outside the source tree.
//
//   llama-oracle tokenize MODEL [--no-special] < TEXTS.json
//                                                  a JSON array of texts on standard input, each a
//                                                  string or, where it is not UTF-8, an array of
//                                                  its bytes; writes [{"text", "ids"}], ASCII with
//                                                  \u escapes; --no-special: special tokens in a
//                                                  text stay text
//   llama-oracle logits MODEL IDS.json OUT.safetensors [--threads N] [--ubatch N] [--kv TYPE]
//                                                  one f32 tensor `logits` [rows, vocab], row i
//                                                  being the logits after ids[0..i]; --kv: keys and
//                                                  values stored as f32, f16, bf16 or q8_0
//   llama-oracle greedy MODEL IDS.json N [--threads N] [--ubatch N]
//                                                  writes a JSON array of the N ids that follow
//   llama-oracle version                           the version of ggml behind the answers
//
// IDS.json is a JSON array of token ids. llama.cpp's bits move with threads and batching, so the
// defaults are part of every recorded figure: 2 threads, batch and micro-batch 512, flash attention
// off, keys and values stored as f16. llama.cpp keeps values in blocks (q8_0) for flash attention
// alone, which is on there. Exit status: 0 done, 1 failed, 2 wrong usage.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ggml.h>
#include <llama.h>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::json;
using Ids = std::vector<llama_token>;

constexpr int kUsageError = 2;

struct Settings {
  bool parseSpecial = true; // special tokens that a text spells become their ids
  int threads = 2;
  int ubatch = 512; // rows of one llama_decode and of one micro-batch
  ggml_type kv = GGML_TYPE_F16;
};

struct FreeModel {
  void operator()(llama_model *model) const { llama_model_free(model); }
};
struct FreeContext {
  void operator()(llama_context *context) const { llama_free(context); }
};
using Model = std::unique_ptr<llama_model, FreeModel>;
using Context = std::unique_ptr<llama_context, FreeContext>;

Model openModel(const std::string &path, bool vocabularyOnly) {
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  params.vocab_only = vocabularyOnly;
  Model model(llama_model_load_from_file(path.c_str(), params));
  if (!model)
    throw std::runtime_error("llama.cpp cannot load '" + path + "'");
  return model;
}

Context openContext(llama_model &model, std::size_t tokens, const Settings &settings) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(tokens);
  params.n_batch = static_cast<std::uint32_t>(settings.ubatch);
  params.n_ubatch = static_cast<std::uint32_t>(settings.ubatch);
  params.n_threads = settings.threads;
  params.n_threads_batch = settings.threads;
  params.flash_attn_type = ggml_is_quantized(settings.kv) ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                                                          : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = settings.kv;
  params.type_v = settings.kv;
  Context context(llama_init_from_model(&model, params));
  if (!context)
    throw std::runtime_error("llama.cpp cannot open a context of " + std::to_string(tokens) +
                             " tokens");
  return context;
}

Ids readIds(const std::string &path, int vocabulary) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot read '" + path + "'");
  const Ids ids = Json::parse(file).get<Ids>();
  if (ids.empty())
    throw std::runtime_error("'" + path + "' holds no token ids");
  for (const llama_token id : ids)
    if (id < 0 || id >= vocabulary)
      throw std::runtime_error("token id " + std::to_string(id) + " lies outside [0, " +
                               std::to_string(vocabulary) + ")");
  return ids;
}

// Appends ids[first..last) at their positions. `everyRow` asks for logits of each of them, else of
// the last alone.
void decode(llama_context &context, const Ids &ids, std::size_t first, std::size_t last,
            bool everyRow) {
  llama_batch batch = llama_batch_init(static_cast<int>(last - first), 0, 1);
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t row = i - first;
    batch.token[row] = ids[i];
    batch.pos[row] = static_cast<llama_pos>(i);
    batch.n_seq_id[row] = 1;
    batch.seq_id[row][0] = 0;
    batch.logits[row] = everyRow || i + 1 == last;
  }
  batch.n_tokens = static_cast<int>(last - first);
  const int status = llama_decode(&context, batch);
  llama_batch_free(batch);
  if (status != 0)
    throw std::runtime_error("llama_decode gave status " + std::to_string(status) +
                             " at position " + std::to_string(first));
}

Ids tokenize(const llama_vocab &vocab, const std::string &text, bool parseSpecial) {
  const auto length = static_cast<int>(text.size());
  Ids ids(text.size() + 8); // never more ids than bytes, and a few added ones
  const int count =
      llama_tokenize(&vocab, text.data(), length, ids.data(), static_cast<int>(ids.size()),
                     /*add_special=*/true, parseSpecial);
  if (count < 0)
    throw std::runtime_error("llama_tokenize needs " + std::to_string(-count) + " ids for " +
                             std::to_string(length) + " bytes");
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

std::string textOf(const Json &text) {
  if (text.is_string())
    return text.get<std::string>();
  const auto bytes = text.get<std::vector<std::uint8_t>>();
  return {bytes.begin(), bytes.end()};
}

void runTokenize(const std::string &modelPath, const Settings &settings) {
  const Model model = openModel(modelPath, /*vocabularyOnly=*/true);
  const llama_vocab &vocab = *llama_model_get_vocab(model.get());
  Json answers = Json::array();
  for (const Json &text : Json::parse(std::cin))
    answers.push_back(
        {{"text", text}, {"ids", tokenize(vocab, textOf(text), settings.parseSpecial)}});
  std::cout << answers.dump(-1, ' ', /*ensure_ascii=*/true) << '\n';
}

// Format: https://github.com/huggingface/safetensors, one tensor, header padded to 8 bytes.
void writeHeader(std::ofstream &out, std::size_t rows, std::size_t vocabulary) {
  const std::uint64_t bytes = std::uint64_t{rows} * vocabulary * sizeof(float);
  const Json tensor = {
      {"dtype", "F32"}, {"shape", {rows, vocabulary}}, {"data_offsets", {0, bytes}}};
  std::string header = Json{{"logits", tensor}}.dump();
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  out.write(reinterpret_cast<const char *>(&length), sizeof length);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
}

void runLogits(const std::string &modelPath, const std::string &idsPath, const std::string &outPath,
               const Settings &settings) {
  const Model model = openModel(modelPath, /*vocabularyOnly=*/false);
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model.get()));
  const Ids ids = readIds(idsPath, vocabulary);
  const Context context = openContext(*model, ids.size(), settings);

  std::ofstream out(outPath, std::ios::binary);
  writeHeader(out, ids.size(), static_cast<std::size_t>(vocabulary));
  const auto step = static_cast<std::size_t>(settings.ubatch);
  for (std::size_t first = 0; first < ids.size(); first += step) {
    const std::size_t last = std::min(ids.size(), first + step);
    decode(*context, ids, first, last, /*everyRow=*/true);
    for (std::size_t i = first; i < last; ++i)
      out.write(reinterpret_cast<const char *>(llama_get_logits_ith(context.get(), int(i - first))),
                static_cast<std::streamsize>(sizeof(float)) * vocabulary);
  }
  out.close();
  if (!out)
    throw std::runtime_error("cannot write '" + outPath + "'");
}

// The end-of-generation tokens are not honoured: a comparison wants all N ids.
void runGreedy(const std::string &modelPath, const std::string &idsPath, std::size_t count,
               const Settings &settings) {
  const Model model = openModel(modelPath, /*vocabularyOnly=*/false);
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model.get()));
  Ids ids = readIds(idsPath, vocabulary);
  const Context context = openContext(*model, ids.size() + count, settings);

  const std::size_t prompt = ids.size();
  std::size_t done = 0;
  while (ids.size() < prompt + count) {
    while (done < ids.size()) {
      const std::size_t last =
          std::min(ids.size(), done + static_cast<std::size_t>(settings.ubatch));
      decode(*context, ids, done, last, /*everyRow=*/false);
      done = last;
    }
    const float *logits = llama_get_logits_ith(context.get(), -1);
    ids.push_back(static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits));
  }
  std::cout << Json(Ids(ids.begin() + static_cast<std::ptrdiff_t>(prompt), ids.end())) << '\n';
}

int parsePositive(std::string_view what, const std::string &text) {
  std::size_t used = 0;
  int value = 0;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception &) {
    used = 0;
  }
  if (used == 0 || used != text.size() || value <= 0)
    throw std::invalid_argument(std::string(what) + " is '" + text + "', not a positive number");
  return value;
}

ggml_type parseKv(const std::string &name) {
  for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0})
    if (name == ggml_type_name(type))
      return type;
  throw std::invalid_argument("--kv is '" + name + "', expected f32, f16, bf16 or q8_0");
}

// Takes the options out of `arguments` and leaves the positional ones.
Settings takeSettings(std::vector<std::string> &arguments) {
  Settings settings;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--no-special") {
      settings.parseSpecial = false;
      continue;
    }
    const std::string &option = arguments[i];
    if (option != "--threads" && option != "--ubatch" && option != "--kv") {
      rest.push_back(option);
      continue;
    }
    if (i + 1 == arguments.size())
      throw std::invalid_argument(option + " needs a value");
    const std::string &value = arguments[++i];
    if (option == "--kv")
      settings.kv = parseKv(value);
    else
      (option == "--threads" ? settings.threads : settings.ubatch) = parsePositive(option, value);
  }
  arguments = std::move(rest);
  return settings;
}

int run(std::vector<std::string> arguments) {
  const Settings settings = takeSettings(arguments);
  const std::size_t count = arguments.size();
  if (count == 2 && arguments[0] == "tokenize")
    runTokenize(arguments[1], settings);
  else if (count == 4 && arguments[0] == "logits")
    runLogits(arguments[1], arguments[2], arguments[3], settings);
  else if (count == 4 && arguments[0] == "greedy")
    runGreedy(arguments[1], arguments[2],
              static_cast<std::size_t>(parsePositive("the token count", arguments[3])), settings);
  else if (count == 1 && arguments[0] == "version")
    std::cout << "ggml " << ggml_version() << '\n';
  else
    throw std::invalid_argument(
        "usage: llama-oracle tokenize MODEL [--no-special] | logits MODEL IDS.json "
        "OUT.safetensors | greedy MODEL IDS.json N | version");
  return EXIT_SUCCESS;
}

void logErrorsOnly(ggml_log_level level, const char *text, void * /*user*/) {
  if (level == GGML_LOG_LEVEL_ERROR)
    std::fputs(text, stderr);
}

} // namespace

int main(int argc, char **argv) {
  llama_log_set(logErrorsOnly, nullptr);
  llama_backend_init();
  int status = EXIT_FAILURE;
  try {
    status = run({argv + 1, argv + argc});
  } catch (const std::invalid_argument &error) {
    std::fprintf(stderr, "llama-oracle: error: %s\n", error.what());
    status = kUsageError;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "llama-oracle: error: %s\n", error.what());
  }
  llama_backend_free();
  return status;
}
