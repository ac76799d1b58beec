// One maker for each op family: sizes that do not divide evenly, values that break careless
// arithmetic.
#include "compiler/Emit/PackWeights.h"
#include "tests/kernels/kernel_case.h"
#include "writ/packed_layout.h"

#include <cmath>
#include <cstring>

namespace writ::test {
namespace {

int64_t pick(Random &random, std::initializer_list<int64_t> choices) {
  return choices.begin()[random() % choices.size()];
}

float oneValue(Values values, Random &random) {
  const auto unit = [&] {
    return static_cast<float>(static_cast<int64_t>(random() >> 40)) * 0x1p-23f - 1.0f;
  };
  const auto kind = random() % 16;
  switch (values) {
  case Values::ordinary:
    return unit() * 2.0f;
  case Values::tiny:
    if (kind < 4)
      return kind & 1 ? 0.0f : -0.0f;
    if (kind < 9) { // subnormal; drawn one after the other, or compilers would differ
      const float significand = unit();
      return std::ldexp(significand, -130 - static_cast<int>(random() % 20));
    }
    return unit() * 1e-38f;
  case Values::large:
    return kind == 0 ? unit() * 3e38f : kind < 8 ? unit() * 1e5f : unit() * 100.0f;
  case Values::special:
    if (random() % 61 == 0)
      return kind < 5 ? NAN : kind < 10 ? INFINITY : -INFINITY;
    return unit();
  }
  return 0;
}

void fillHalves(Bytes &bytes, int64_t count, Values values, Random &random) {
  bytes.resize(static_cast<size_t>(count) * 2);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half = static_cast<uint16_t>(random());
    const unsigned exponent = half >> 10 & 31u;
    if (values == Values::ordinary || values == Values::special ? exponent < 8 || exponent > 15
                                                                : exponent == 31)
      half = static_cast<uint16_t>((half & 0x83ffu) | 12u << 10);
    if (values == Values::special && random() % 97 == 0)
      half = static_cast<uint16_t>(random() % 2 ? 0x7c00 : 0x7e00);
    if (values == Values::tiny)
      half &= 0x83ffu; // subnormal or zero
    std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
}

void addOutput(KernelCase &test, const std::string &bind, const std::string &storage, int64_t bytes,
               int64_t k = 0) {
  Output output;
  output.storage = storage;
  output.start.assign(static_cast<size_t>(bytes), std::byte{0xA5});
  output.k = k;
  test.outputs[bind] = std::move(output);
}

void addFloats(KernelCase &test, const std::string &bind, int64_t count, Values values,
               Random &random) {
  fillFloats(test.inputs[bind], count, values, random);
}

void addIntegers(KernelCase &test, const std::string &bind, const std::vector<int32_t> &values) {
  Bytes &bytes = test.inputs[bind];
  bytes.resize(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
}

std::string storageOf(const KernelCase &test, const char *operand) {
  return test.map.at("operands").at(operand).at("storage");
}

void addWeight(KernelCase &test, const char *operand, int64_t n, int64_t k, Values values,
               Random &random) {
  const std::string storage = storageOf(test, operand);
  const std::string layout = test.map.at("operands").at(operand).at("layout");
  const Bytes file = randomWeight(storage, n, k, values, random);
  Bytes packed(static_cast<size_t>(packedBytes(layout, storage, n, k)));
  if (!packWeight(layout, storage, n, k, file.data(), packed.data()))
    throw std::runtime_error("cannot pack " + storage);
  test.inputs[std::string("operand:") + operand] = std::move(packed);
}

int64_t someRows(Random &random) {
  return pick(random, {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 33});
}
int64_t someWidth(Random &random) {
  return pick(random, {1, 7, 16, 31, 33, 48, 64, 65, 127, 576});
}
/// A size of `dimension` that the map takes.
int64_t mappedWidth(const KernelCase &test, const char *dimension, Random &random) {
  const int64_t unit = test.map.at("dimensions").at(dimension).value("multiple_of", int64_t(1));
  if (unit == 1)
    return someWidth(random);
  return unit * (unit < kSuperElements ? pick(random, {1, 3, 5, 7, 8, 9, 11, 18, 25, 48})
                                       : pick(random, {1, 2, 3, 5, 8, 9, 11}));
}

/// Of a row of activation codes over k elements.
int64_t codesRowBytes(const std::string &storage, int64_t k) {
  for (const ActivationCodes *codes : kActivationCodes)
    if (codes->storage == storage)
      return codes->rowBytes(k);
  for (const ActivationBlocks *blocks : kActivationBlocks)
    if (blocks->storage == storage)
      return blocks->rowBytes(k);
  throw std::runtime_error("no codes '" + storage + "'");
}

void makeEmbedding(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), vocabulary = pick(random, {1, 16, 17, 45, 100});
  const int64_t n = mappedWidth(test, "n", random);
  test.integers = {{"dim:rows", rows}, {"dim:vocabulary", vocabulary}, {"dim:n", n}};
  addWeight(test, "weight", vocabulary, n, values, random);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < rows; ++i)
    tokens.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(vocabulary)));
  addIntegers(test, "rows.token", tokens);
  addOutput(test, "operand:out", "f32", rows * n * 4);
}

void makeLinear(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), n = pick(random, {1, 15, 16, 17, 40, 64, 83});
  const int64_t k = mappedWidth(test, "k", random);
  test.integers = {{"dim:rows", rows}, {"dim:n", n}, {"dim:k", k}};
  addWeight(test, "weight", n, k, values == Values::large ? Values::ordinary : values, random);
  if (random() % 2)
    addFloats(test, "operand:bias", n, values, random);
  addOutput(test, "operand:out", "f32", rows * n * 4);
  Bytes activation;
  fillFloats(activation, rows * k, values, random);
  if (storageOf(test, "activation") == "f32") {
    test.inputs["operand:activation"] = std::move(activation);
    return;
  }
  for (int64_t i = 0; i < k * 4 && values == Values::tiny; ++i)
    activation[static_cast<size_t>(i)] = std::byte{0}; // a row of zeros
  test.inputs["operand:activation"] =
      quantizeRows(storageOf(test, "activation"), rows, k, activation);
}

void makeRmsNorm(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), vectors = pick(random, {1, 1, 3, 4}),
                n = someWidth(random), count = rows * vectors * n;
  test.integers = {{"dim:rows", rows}, {"dim:vectors", vectors}, {"dim:n", n}};
  test.floats = {{"attr:epsilon", 1e-5f}};
  addFloats(test, "operand:input", count, values, random);
  addFloats(test, "operand:weight", n, values, random);
  addOutput(test, "operand:out", "f32", count * 4);
}

void makeQuantize(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), k = mappedWidth(test, "k", random);
  const std::string storage = storageOf(test, "out");
  test.integers = {{"dim:rows", rows}, {"dim:k", k}};
  addFloats(test, "operand:input", rows * k, values, random);
  addOutput(test, "operand:out", storage, rows * codesRowBytes(storage, k), k);
}

void makeNormQuantize(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), n = mappedWidth(test, "n", random);
  test.integers = {{"dim:rows", rows}, {"dim:n", n}};
  test.floats = {{"attr:epsilon", 1e-5f}};
  addFloats(test, "operand:input", rows * n, values, random);
  addFloats(test, "operand:weight", n, values, random);
  const std::string storage = storageOf(test, "out");
  addOutput(test, "operand:out", storage, rows * codesRowBytes(storage, n), n);
}

void makeGateQuantize(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), n = mappedWidth(test, "n", random);
  test.integers = {{"dim:rows", rows}, {"dim:n", n}};
  for (const char *operand : {"operand:gate", "operand:up"})
    addFloats(test, operand, rows * n, values, random);
  const std::string storage = storageOf(test, "out");
  addOutput(test, "operand:out", storage, rows * codesRowBytes(storage, n), n);
}

void makeRopeTable(KernelCase &test, Values, Random &random) {
  const int64_t rows = someRows(random), dims = 2 * pick(random, {1, 8, 16, 31, 32, 64});
  test.integers = {{"dim:rows", rows}, {"dim:rope_dims", dims}};
  Bytes &frequencies = test.inputs["operand:frequencies"];
  frequencies.resize(static_cast<size_t>(dims * 4));
  for (int64_t i = 0; i < dims / 2; ++i) {
    const double f = std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
    std::memcpy(frequencies.data() + 8 * i, &f, 8);
  }
  std::vector<int32_t> positions;
  for (int64_t i = 0; i < rows; ++i)
    positions.push_back(static_cast<int32_t>(random() % 200000));
  addIntegers(test, "rows.position", positions);
  addOutput(test, "operand:out", "f32", rows * dims * 4);
}

void makeRope(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), heads = pick(random, {1, 3, 9}),
                headDim = pick(random, {2, 16, 30, 64, 80, 256}),
                dims = random() % 2 ? headDim : 2 * (headDim / 4 > 0 ? headDim / 4 : 1);
  test.integers = {
      {"dim:rows", rows}, {"dim:heads", heads}, {"dim:head_dim", headDim}, {"dim:rope_dims", dims}};
  addFloats(test, "operand:input", rows * heads * headDim, values, random);
  addFloats(test, "operand:table", rows * dims, Values::ordinary, random);
  addOutput(test, "operand:out", "f32", rows * heads * headDim * 4);
}

/// Sequences of scattered pages; two sequences at least, so that a wrong table row shows.
void addKv(KernelCase &test, int64_t kvHeads, int64_t headDim, int64_t rows, int64_t most,
           Values values, Random &random) {
  const int64_t block = pick(random, {1, 3, 16, 32, 64}),
                sequences = 2 + static_cast<int64_t>(random() % 2);
  const int64_t table = (most + block - 1) / block, physical = table * sequences, layers = 2;
  writ_kv_view &kv = test.kv;
  const std::string storage = storageOf(test, "kv");
  const auto rowBytes =
      static_cast<int64_t>(randomWeight(storage, 1, headDim, values, random).size());
  kv.token_stride = kvHeads * rowBytes;
  kv.page_stride = kv.token_stride * block;
  kv.layer_stride = kv.page_stride * physical;
  kv.block_size = block;
  kv.physical_blocks = physical;
  kv.table_stride = table;
  std::vector<int32_t> pages;
  for (int64_t i = 0; i < physical; ++i)
    pages.push_back(static_cast<int32_t>(i));
  std::shuffle(pages.begin(), pages.end(), random);
  Bytes owned(pages.size() * 4);
  std::memcpy(owned.data(), pages.data(), owned.size());
  test.owned.push_back(std::move(owned));
  kv.block_table = reinterpret_cast<const int32_t *>(test.owned.back().data());
  test.integers["kv.layer"] = 1;
  test.integers["kv.window"] = pick(random, {1, 2, 31, 32, 33, 70, 256, 300, 512});
  std::vector<int32_t> position, sequence;
  // runs of ascending positions of one sequence, as prefill chunks are, then single rows
  for (int64_t s = static_cast<int64_t>(random()) & 1, p = 0;
       static_cast<int64_t>(position.size()) < rows;) {
    if (position.empty() || random() % 5 == 0 || p + 1 >= most) {
      s = (s + 1) % sequences;
      p = static_cast<int64_t>(random() % static_cast<uint64_t>(most));
    } else {
      ++p;
    }
    position.push_back(static_cast<int32_t>(p));
    sequence.push_back(static_cast<int32_t>(s));
  }
  addIntegers(test, "rows.position", position);
  addIntegers(test, "rows.sequence", sequence);
  for (const char *plane : {"k_plane", "v_plane"}) {
    addOutput(test, plane, storage, kv.layer_stride * layers);
    test.outputs[plane].start =
        randomWeight(storage, kv.layer_stride * layers / rowBytes, headDim, values, random);
  }
}

void makeKvStore(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), kvHeads = pick(random, {1, 3}),
                headDim = storageOf(test, "kv") == "q8_0" ? 32 * pick(random, {1, 2, 5, 8})
                                                          : pick(random, {1, 15, 16, 64, 256});
  test.integers = {{"dim:rows", rows}, {"dim:kv_heads", kvHeads}, {"dim:head_dim", headDim}};
  addKv(test, kvHeads, headDim, rows, 90, values, random);
  // rows write different positions, or the result would depend on the order
  std::vector<int32_t> position, sequence;
  for (int64_t i = 0; i < rows; ++i) {
    position.push_back(static_cast<int32_t>(i * 2 + 5));
    sequence.push_back(static_cast<int32_t>(i % 2));
  }
  addIntegers(test, "rows.position", position);
  addIntegers(test, "rows.sequence", sequence);
  addFloats(test, "operand:k", rows * kvHeads * headDim, values, random);
  addFloats(test, "operand:v", rows * kvHeads * headDim, values, random);
}

void makeAttention(KernelCase &test, Values values, Random &random) {
  const int64_t rows = pick(random, {1, 1, 2, 5, 9, 16, 33}), kvHeads = pick(random, {1, 2, 3}),
                multiple = test.map.at("dimensions").at("head_dim").at("multiple_of"),
                headDim = multiple == 32 ? 32 * pick(random, {1, 2, 4, 5, 8, 16})
                                         : 16 * pick(random, {1, 2, 4, 5, 8, 16, 32}),
                heads = kvHeads *
                        (headDim > 128 ? pick(random, {1, 4}) : pick(random, {1, 2, 3, 7, 17}));
  test.integers = {{"dim:rows", rows},
                   {"dim:heads", heads},
                   {"dim:kv_heads", kvHeads},
                   {"dim:head_dim", headDim}};
  test.floats = {{"attr:scale", 1.0f / std::sqrt(static_cast<float>(headDim))}};
  addKv(test, kvHeads, headDim, rows, pick(random, {1, 31, 32, 33, 100, 257, 700}), values, random);
  addFloats(test, "operand:q", rows * heads * headDim, values, random);
  for (const auto &argument : test.map.at("arguments"))
    if (argument.at("bind") == "attr:soft_cap")
      test.floats["attr:soft_cap"] = 3.0f; // scores reach it
    else if (argument.at("bind") == "operand:sinks")
      addFloats(test, "operand:sinks", heads, values, random);
  addOutput(test, "operand:out", "f32", rows * heads * headDim * 4);
}

void makeElementwise(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), n = someWidth(random);
  test.integers = {{"dim:rows", rows}, {"dim:n", n}};
  for (const auto &argument : test.map.at("arguments"))
    if (argument.at("type") == "input" && argument.at("bind") != "rows.output_row")
      addFloats(test, argument.at("bind"), rows * n, values, random);
    else if (argument.at("bind") == "attr:cap")
      test.floats["attr:cap"] = 1.5f;
  addOutput(test, "operand:out", "f32", rows * n * 4);
}

void makeSelectRows(KernelCase &test, Values values, Random &random) {
  const int64_t all = someRows(random), n = someWidth(random);
  std::vector<int32_t> wanted;
  for (int64_t i = 0; i < all; ++i)
    if (i + 1 == all || random() % 2)
      wanted.push_back(static_cast<int32_t>(i));
  const auto rows = static_cast<int64_t>(wanted.size());
  test.integers = {{"dim:rows", rows}, {"dim:n", n}};
  addIntegers(test, "rows.output_row", wanted);
  addFloats(test, "operand:input", all * n, values, random);
  addOutput(test, "operand:out", "f32", rows * n * 4);
}

void makeSample(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), vocabulary = pick(random, {1, 2, 33, 300, 5000});
  test.integers = {{"host:rows", rows}, {"host:vocabulary", vocabulary}};
  addFloats(test, "host:logits", rows * vocabulary, values, random);
  std::vector<int32_t> recent;
  for (int i = 0; i < 80; ++i)
    recent.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(vocabulary)));
  Bytes recentBytes(recent.size() * 4);
  std::memcpy(recentBytes.data(), recent.data(), recentBytes.size());
  test.owned.push_back(std::move(recentBytes));
  std::vector<writ_sample_parameters> parameters;
  for (int64_t i = 0; i < rows; ++i) {
    writ_sample_parameters p{};
    p.temperature = static_cast<float>(random() % 4) * 0.5f;
    p.top_p = random() % 2 ? 1.0f : 0.8f;
    p.min_p = random() % 2 ? 0.0f : 0.05f;
    p.repeat_penalty = random() % 2 ? 1.0f : 1.3f;
    p.top_k = pick(random, {0, 1, 7, 40, 10000});
    p.seed = random();
    p.stream = random();
    p.position = random();
    p.recent = reinterpret_cast<const int32_t *>(test.owned.back().data());
    p.recent_count = pick(random, {0, 3, 64, 80});
    parameters.push_back(p);
  }
  Bytes &bytes = test.inputs["host:parameters"];
  bytes.resize(parameters.size() * sizeof(parameters[0]));
  std::memcpy(bytes.data(), parameters.data(), bytes.size());
  test.inputs["host:scratch"].resize(static_cast<size_t>(rows * vocabulary * 16));
  addOutput(test, "host:token", "i32", rows * 4);
}

void makeLogProbability(KernelCase &test, Values values, Random &random) {
  const int64_t rows = someRows(random), vocabulary = pick(random, {1, 63, 64, 65, 200, 5000});
  test.integers = {{"host:rows", rows}, {"host:vocabulary", vocabulary}};
  addFloats(test, "host:logits", rows * vocabulary, values, random);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < rows; ++i)
    tokens.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(vocabulary)));
  addIntegers(test, "host:token", tokens);
  addOutput(test, "host:out", "f32", rows * 4);
}

using Maker = void (*)(KernelCase &, Values, Random &);
const std::map<std::string, Maker> makers = {{"embedding", makeEmbedding},
                                             {"linear", makeLinear},
                                             {"rms_norm", makeRmsNorm},
                                             {"rms_norm_quantize", makeNormQuantize},
                                             {"gate_quantize", makeGateQuantize},
                                             {"quantize_activation", makeQuantize},
                                             {"rope_table", makeRopeTable},
                                             {"rope", makeRope},
                                             {"kv_store", makeKvStore},
                                             {"attention", makeAttention},
                                             {"gate", makeElementwise},
                                             {"residual", makeElementwise},
                                             {"soft_cap", makeElementwise},
                                             {"select_rows", makeSelectRows},
                                             {"sample", makeSample},
                                             {"log_probability", makeLogProbability}};

} // namespace

void fillFloats(Bytes &bytes, int64_t count, Values values, Random &random) {
  bytes.resize(static_cast<size_t>(count) * 4);
  for (int64_t i = 0; i < count; ++i) {
    const float value = oneValue(values, random);
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
}

Bytes quantizeRows(const std::string &storage, int64_t rows, int64_t k, const Bytes &floats) {
  Bytes codes(static_cast<size_t>(rows * codesRowBytes(storage, k)));
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(floats.data()),
                            reinterpret_cast<uint64_t>(codes.data()), static_cast<uint64_t>(rows),
                            static_cast<uint64_t>(k)};
  for (const std::string &id : providerIds())
    if (const nlohmann::json map = readMap(id); map.at("op") == "quantize_activation")
      if (map.at("operands").at("out").at("storage") == storage) {
        writ_find_provider(id.c_str())->bodies[0](slots, 0, rows);
        return codes;
      }
  throw std::runtime_error("no provider makes '" + storage + "'");
}

Bytes randomWeight(const std::string &storage, int64_t n, int64_t k, Values values,
                   Random &random) {
  Bytes file;
  if (storage == "f32") {
    fillFloats(file, n * k, values, random);
  } else if (storage == "f16") {
    fillHalves(file, n * k, values, random);
  } else if (storage == "bf16") {
    Bytes wide;
    fillFloats(wide, n * k, values, random);
    for (int64_t i = 0; i < n * k; ++i)
      file.insert(file.end(), wide.begin() + 4 * i + 2, wide.begin() + 4 * i + 4);
  } else { // blocks: random codes and sub-scales
    file.resize(static_cast<size_t>(fileBytes(storage, n, k)));
    for (std::byte &byte : file)
      byte = static_cast<std::byte>(random());
    // the halves of a block: d, then m or dmin; q6_k has its d at the end
    const bool minimum = storage.ends_with("_1") || storage == "q4_k" || storage == "q5_k";
    const int64_t elements = storage.ends_with("_k") ? kSuperElements : kBlockElements;
    const int64_t blocks = n * k / elements;
    const auto blockBytes = static_cast<int64_t>(file.size()) / blocks;
    const int64_t first = storage == "q6_k" ? blockBytes - 2 : 0;
    for (int64_t header = 0; header < (minimum ? 2 : 1); ++header) {
      Bytes halves;
      fillHalves(halves, blocks, values, random);
      for (int64_t block = 0; block < blocks; ++block)
        std::memcpy(file.data() + block * blockBytes + first + 2 * header,
                    halves.data() + 2 * block, 2);
    }
  }
  return file;
}

std::unique_ptr<KernelCase> makeCase(const std::string &providerId, Values values, uint64_t seed) {
  Random random(seed * 4 + static_cast<uint64_t>(values));
  auto test = std::make_unique<KernelCase>();
  test->map = readMap(providerId);
  const auto maker = makers.find(test->map.at("op"));
  if (maker == makers.end())
    return nullptr;
  maker->second(*test, values, random);
  test->description = providerId + " seed " + std::to_string(seed) + " values " +
                      std::to_string(static_cast<int>(values));
  for (const auto &[name, value] : test->integers)
    test->description += " " + name + "=" + std::to_string(value);
  return test;
}

} // namespace writ::test
