#include "toy_package.h"

#include "writ/chat.h"
#include "writ/package_format.h"
#include "writ/tokenizer.h"

#include <cstdlib>
#include <fstream>
#include <sodium.h>
#include <sstream>
#include <stdexcept>

namespace toy {
namespace {

writ::TokenizerData tokenizerData() {
  writ::TokenizerData data;
  data.model = "gpt2";
  data.preTokenizer = "gpt-2";
  for (char c = 'a'; c <= 'z'; ++c)
    data.tokens.push_back(std::string(1, c));
  for (const char *token : {"Ġ", "Ã", "©", "?", "Ċ", "th", "<|im_start|>", "<|im_end|>"})
    data.tokens.push_back(token);
  data.types.assign(data.tokens.size(), int32_t(writ::TokenType::normal));
  data.types[data.tokens.size() - 1] = int32_t(writ::TokenType::control);
  data.types[data.tokens.size() - 2] = int32_t(writ::TokenType::control);
  data.merges = {"t h"};
  data.eos = int32_t(data.tokens.size() - 1);
  data.endOfGeneration = {data.eos};
  return data;
}

writ::ChatTemplate chatTemplate() {
  writ::ChatTemplate chat;
  chat.name = "toy";
  chat.sha256 = std::string(64, 'c');
  const auto turn = [](const std::string &role) {
    return writ::ChatMarkup{"<|im_start|>" + role + "\n", "<|im_end|>\n"};
  };
  chat.system = turn("system");
  chat.user = turn("user");
  chat.assistant = turn("assistant");
  chat.generationPrompt = "<|im_start|>assistant\n";
  chat.stop = kEnd;
  return chat;
}

std::string weightsFile(int64_t *offset) {
  const std::vector<uint64_t> words = weights();
  const size_t bytes = words.size() * sizeof(uint64_t);
  std::string header = R"({"toy":{"dtype":"U8","shape":[512],"data_offsets":[0,512]}})";
  header.resize(128 - 8, ' ');
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char *>(&length), sizeof length);
  file += header;
  *offset = int64_t(file.size());
  file.append(reinterpret_cast<const char *>(words.data()), bytes);
  return file;
}

void check(writ_status status, const writ_error &error) {
  if (status != WRIT_OK)
    throw std::runtime_error(error.text);
}

writ_session_options changed(const std::function<void(writ_session_options &)> &change) {
  writ_session_options options;
  writ_session_options_init(&options);
  change(options);
  return options;
}

} // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "writ-test-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw std::runtime_error("cannot make a temporary folder");
  folder = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
std::string TemporaryFolder::path(const std::string &name) const {
  return (name.empty() ? folder : folder / name).string();
}

void writeFile(const std::string &path, std::string_view contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  if (!file.flush())
    throw std::runtime_error("cannot write " + path);
}
std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
std::string sha256(std::string_view bytes) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size());
  char text[2 * sizeof digest + 1];
  sodium_bin2hex(text, sizeof text, digest, sizeof digest);
  return text;
}

int32_t idOf(const std::string &token) {
  const writ::TokenizerData data = tokenizerData();
  for (size_t i = 0; i < data.tokens.size(); ++i)
    if (data.tokens[i] == token)
      return int32_t(i);
  throw std::runtime_error("no token " + token);
}

void writePackage(const std::string &folder, const std::function<void(Json &lock)> &change) {
  std::filesystem::create_directories(folder);
  int64_t offset = 0;
  const std::string weights = weightsFile(&offset);
  const std::string tokenizer = writ::writeTokenizerData(tokenizerData());
  const std::string chat = writ::toJson(chatTemplate()).dump();
  writeFile(folder + "/" + writ::kWeightsFile, weights);
  const std::string tables = writ::compileTokenizer(tokenizerData(), nullptr).value();
  writeFile(folder + "/" + writ::kTokenizerFile, tokenizer);
  writeFile(folder + "/" + writ::kTokenizerTables, tables);
  writeFile(folder + "/" + writ::kChatFile, chat);
  Json lock{{"schema", writ::kLockSchema},
            {"package_version", writ::kPackageVersion},
            {"production", true},
            {"model", {{"name", "toy"}, {"sha256", kModelFile}}},
            {"circuit", {{"id", "toy_circuit"}, {"sha256", kCircuit}}},
            {"profile", {{"id", "portable"}, {"sha256", kProfile}}},
            {"resolution_sha256", kResolution},
            {"weights",
             {{"file", writ::kWeightsFile},
              {"sha256", sha256(weights)},
              {"bytes", int64_t(weights.size()) - offset},
              {"data_offset", offset}}},
            {"tokenizer",
             {{"file", writ::kTokenizerFile},
              {"sha256", sha256(tokenizer)},
              {"tables", {{"file", writ::kTokenizerTables}, {"sha256", sha256(tables)}}}}},
            {"chat", {{"file", writ::kChatFile}, {"sha256", sha256(chat)}}},
            {"files", {{writ::kCallFile, kCalls}}}};
  if (change)
    change(lock);
  writeFile(folder + "/" + writ::kLockFile, lock.dump(2));
}

void changeLock(const std::string &folder, const std::function<void(Json &lock)> &change) {
  Json lock = Json::parse(readFile(folder + "/" + writ::kLockFile));
  change(lock);
  writeFile(folder + "/" + writ::kLockFile, lock.dump(2));
}

Opened::Opened(const writ_model_desc *model, const writ_session_options &options) {
  writePackage(folder.path());
  check(writ_package_open_linked(model, folder.path().c_str(), nullptr, &package, &error), error);
  check(writ_session_create(package, &options, &session, &error), error);
}
Opened::Opened(const writ_model_desc *model,
               const std::function<void(writ_session_options &)> &change)
    : Opened(model, changed(change)) {}
Opened::~Opened() {
  writ_session_destroy(session, nullptr);
  writ_package_close(package, nullptr);
}

writ_sequence Opened::sequence() {
  writ_sequence sequence{};
  check(writ_sequence_create(session, &sequence, &error), error);
  return sequence;
}
void Opened::feed(writ_sequence sequence, const std::vector<int32_t> &ids, int32_t outputs) {
  check(writ_sequence_feed(session, sequence, ids.data(), int64_t(ids.size()), outputs, nullptr,
                           nullptr, nullptr, &error),
        error);
}
std::vector<float> Opened::logits(int64_t output) const {
  const float *row = writ_session_logits(session, output);
  if (!row)
    throw std::runtime_error("no output " + std::to_string(output));
  return {row, row + kVocabulary};
}

std::vector<int32_t> tokens(int64_t count, uint64_t seed) {
  std::vector<int32_t> ids;
  uint64_t state = seed * 2654435761u + 12345;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(int32_t((state >> 33) % uint64_t(kNanToken)));
  }
  return ids;
}

} // namespace toy
