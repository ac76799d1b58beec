// Prints the SHA-256 of all logits of a token history, computed as the arguments say:
//   score_digest PACKAGE IDS threads=2 chunk=32 isa=avx2 pages=32 shuffle=0 batch=1 rewind=0
// `batch` runs that many copies of the history as sequences of shared steps and demands that all
// give the same logits; `rewind` feeds that many tokens of something else first and rewinds. With
// digest=rows it prints one digest a row, so that the first row that differs can be named.
// Lines "body PROVIDER ISA" follow: which bodies the trace saw run.
//
// flip=threads, chunk or isa is the negative control: a kernel whose bits depend on that. One bit
// of one key of the first token is flipped where the run has more than one thread, where a step has
// more than 32 rows, or where the body that stored the key is not the scalar one.
//
//   score_digest isa    prints the instruction sets of this machine, ascending
#include "writ/model_abi.h"
#include "writ/writ.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sodium.h>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string &text) {
  std::fprintf(stderr, "score_digest: %s\n", text.c_str());
  std::exit(1);
}

void require(writ_status status, const writ_error &error) {
  if (status != WRIT_OK)
    fail(error.text);
}

struct Hash {
  crypto_hash_sha256_state state;
  std::vector<uint32_t> bits; ///< of a row
  Hash() { crypto_hash_sha256_init(&state); }
  /// A row at once: a call of libsodium for each value takes as long as its arithmetic.
  void row(const float *logits, int64_t count) {
    bits.resize(size_t(count));
    std::memcpy(bits.data(), logits, size_t(count) * sizeof(float));
    for (uint32_t &each : bits)
      each = (each & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : each; // a NaN
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char *>(bits.data()),
                              bits.size() * sizeof(uint32_t));
  }
  std::string hex() {
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(&state, hash);
    char text[2 * sizeof hash + 1];
    sodium_bin2hex(text, sizeof text, hash, sizeof hash);
    return text;
  }
};

std::vector<int32_t> readIds(const char *path) {
  std::ifstream file(path);
  if (!file)
    fail(std::string("cannot read ") + path);
  std::vector<int32_t> ids;
  for (char c; file.get(c);)
    if (c >= '0' && c <= '9') {
      file.unget();
      int32_t id;
      file >> id;
      ids.push_back(id);
    }
  return ids;
}

/// What the trace sees, and does for `flip`.
struct Trace {
  const writ_model_desc *model = nullptr;
  int32_t threads = 1;
  std::string flip;
  std::set<std::pair<std::string, std::string>> bodies; ///< provider, instruction set

  static void see(void *user, const writ_step *step, uint32_t call, const writ_provider *provider,
                  const void *) {
    Trace &trace = *static_cast<Trace *>(user);
    const int32_t isa = writ_traced_isa(step, provider);
    if (isa >= 0)
      trace.bodies.emplace(provider->id, writ_isa_name(isa));
    const writ_rows &rows = *step->rows;
    const bool flips = (trace.flip == "threads" && trace.threads > 1) ||
                       (trace.flip == "chunk" && rows.count > 32) ||
                       (trace.flip == "isa" && isa > WRIT_ISA_SCALAR);
    if (!flips || call != trace.firstStore() || rows.position[0] != 0)
      return;
    const writ_kv_view &kv = step->kv[0];
    const int32_t page = kv.block_table[rows.sequence[0] * kv.table_stride];
    static_cast<unsigned char *>(kv.k_plane)[page * kv.page_stride] ^= 1;
  }

private:
  /// The first call that stores keys, of the prefill's.
  uint32_t firstStore() const {
    uint32_t call = 0;
    while (call < model->call_count && std::string(model->calls[call].family) != "kv_store")
      ++call;
    return call;
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && argv[1] == std::string("isa")) {
    for (int32_t isa = 0; isa < WRIT_ISA_COUNT; ++isa)
      if (writ_isa_supported(isa))
        std::puts(writ_isa_name(isa));
    return 0;
  }
  if (argc < 3)
    fail("usage: score_digest PACKAGE IDS [key=value ...]");
  std::map<std::string, std::string> options = {{"threads", "1"}, {"chunk", "32"},   {"isa", ""},
                                                {"pages", "32"},  {"shuffle", "0"},  {"batch", "1"},
                                                {"rewind", "0"},  {"digest", "all"}, {"flip", ""}};
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (equals == std::string::npos || !options.contains(word.substr(0, equals)))
      fail("unknown option '" + word + "'");
    options[word.substr(0, equals)] = word.substr(equals + 1);
  }
  auto number = [&](const char *key) { return std::atoll(options.at(key).c_str()); };
  const std::vector<int32_t> ids = readIds(argv[2]);
  const int64_t count = int64_t(ids.size()), batch = number("batch");

  writ_error error;
  writ_package *package = nullptr;
  require(writ_package_open(argv[1], nullptr, &package, &error), error);
  writ_package_info info{};
  info.struct_size = sizeof info;
  require(writ_package_get_info(package, &info, &error), error);
  writ_session_options wanted;
  writ_session_options_init(&wanted);
  wanted.threads = int32_t(number("threads"));
  const int64_t chunk = options["chunk"] == "whole" ? count : number("chunk");
  wanted.max_rows = chunk * batch;
  wanted.max_outputs = wanted.max_rows;
  wanted.max_sequences = batch;
  wanted.context_tokens = count + number("rewind");
  wanted.page_size = number("pages");
  wanted.page_order_seed = uint64_t(number("shuffle"));
  wanted.poison = 1;
  if (!options["isa"].empty())
    wanted.isa = writ_isa_from_name(options["isa"].c_str());
  Trace trace{writ_package_model(package), wanted.threads, options["flip"], {}};
  wanted.trace = Trace::see;
  wanted.trace_user = &trace;
  writ_session *session = nullptr;
  require(writ_session_create(package, &wanted, &session, &error), error);

  std::vector<writ_sequence> sequences(batch);
  for (writ_sequence &sequence : sequences) {
    require(writ_sequence_create(session, &sequence, &error), error);
    for (int64_t i = 0; i < number("rewind"); ++i) {
      const int32_t other = ids[(i * 7 + 3) % count];
      require(writ_sequence_feed(session, sequence, &other, 1, WRIT_OUTPUTS_NONE, nullptr, nullptr,
                                 nullptr, &error),
              error);
    }
    require(writ_sequence_rewind(session, sequence, 0, &error), error);
  }
  Hash hash;
  std::vector<writ_step_row> rows;
  for (int64_t first = 0; first < count; first += chunk) {
    const int64_t part = std::min(chunk, count - first);
    rows.clear();
    for (int64_t i = 0; i < part; ++i) // sequences interleaved, so that rows of all mix
      for (int64_t s = 0; s < batch; ++s)
        rows.push_back({sequences[s], ids[first + i], 1});
    require(writ_session_step(session, rows.data(), int64_t(rows.size()), &error), error);
    for (int64_t i = 0; i < part; ++i) {
      const float *logits = writ_session_logits(session, i * batch);
      hash.row(logits, info.vocabulary);
      if (options["digest"] == "rows") {
        Hash one;
        one.row(logits, info.vocabulary);
        std::printf("%s\n", one.hex().c_str());
      }
      for (int64_t s = 1; s < batch; ++s)
        if (std::memcmp(logits, writ_session_logits(session, i * batch + s),
                        size_t(info.vocabulary) * sizeof(float)) != 0)
          fail("sequence " + std::to_string(s) + " of the batch differs at token " +
               std::to_string(first + i));
    }
  }
  if (options["digest"] == "all")
    std::printf("%s\n", hash.hex().c_str());
  for (const auto &[provider, isa] : trace.bodies)
    std::printf("body %s %s\n", provider.c_str(), isa.c_str());
  require(writ_session_destroy(session, &error), error);
  require(writ_package_close(package, &error), error);
}
