#include "tests/bench/attention_bench.h"

#include "ir/Reference/Storage.h"
#include "tests/kernels/kernel_case.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace writ::test {
namespace {

struct Heads {
  const char *model;
  int64_t heads, kvHeads, headDim;
};
constexpr Heads kHeads[] = {{"smollm2", 9, 3, 64},
                            {"qwen2", 14, 2, 64},
                            {"qwen3", 16, 8, 128},
                            {"gemma3", 4, 1, 256},
                            {"tinyllama", 32, 4, 64}};
constexpr int64_t kPage = 32, kWindow = 512, kPrefillRows = 64;
/// As many layers as exceed the caches, one after the other, as a model reads them.
constexpr int64_t kDecodeBytes = 192ll << 20;

/// K and V of layers that are all alike, on large pages where the system gives them.
struct Planes {
  Planes(const std::string &storage, const Heads &shape, int64_t pages, bool manyLayers) {
    view.token_stride = shape.kvHeads * reference::rowBytes(storage, shape.headDim);
    view.block_size = kPage;
    view.page_stride = view.token_stride * kPage;
    view.physical_blocks = view.table_stride = pages;
    view.layer_stride = view.page_stride * pages;
    layers = manyLayers ? std::max<int64_t>(1, kDecodeBytes / (2 * view.layer_stride)) : 1;
    const int64_t plane = layers * view.layer_stride, large = 1 << 21;
    data = static_cast<std::byte *>(
        std::aligned_alloc(large, static_cast<size_t>((2 * plane + large - 1) / large * large)));
    Random random(1);
    const Bytes layer = randomWeight(storage, pages * kPage * shape.kvHeads, shape.headDim,
                                     Values::ordinary, random);
    for (int64_t i = 0; i < 2 * layers; ++i)
      std::memcpy(data + i * view.layer_stride, layer.data(), layer.size());
    view.k_plane = data;
    view.v_plane = data + plane;
    for (int64_t i = 0; i < pages; ++i)
      table.push_back(static_cast<int32_t>(i));
    view.block_table = table.data();
  }
  ~Planes() { std::free(data); }
  Planes(const Planes &) = delete;
  Planes &operator=(const Planes &) = delete;

  writ_kv_view view{};
  int64_t layers;
  std::byte *data;
  std::vector<int32_t> table;
};

void attention(benchmark::State &state, const writ_provider *provider, int isa,
               const nlohmann::json &map, const Heads &shape, int64_t rows, int64_t depth) {
  const int64_t context = depth + rows;
  const std::string storage = map.at("operands").at("kv").at("storage");
  Planes planes(storage, shape, (context + kPage - 1) / kPage, rows == 1);
  std::vector<int32_t> position, sequence(static_cast<size_t>(rows), 0);
  for (int64_t i = 0; i < rows; ++i)
    position.push_back(static_cast<int32_t>(depth + i));
  Random random(2);
  Bytes q;
  fillFloats(q, rows * shape.heads * shape.headDim, Values::ordinary, random);
  std::vector<float> out(static_cast<size_t>(rows * shape.heads * shape.headDim));
  const auto slot = [](const void *pointer) { return reinterpret_cast<uint64_t>(pointer); };
  const std::map<std::string, uint64_t> bound{
      {"operand:q", slot(q.data())},
      {"operand:out", slot(out.data())},
      {"kv.view", slot(&planes.view)},
      {"kv.layer", 0},
      {"kv.window", kWindow},
      {"rows.position", slot(position.data())},
      {"rows.sequence", slot(sequence.data())},
      {"dim:rows", static_cast<uint64_t>(rows)},
      {"dim:heads", static_cast<uint64_t>(shape.heads)},
      {"dim:kv_heads", static_cast<uint64_t>(shape.kvHeads)},
      {"dim:head_dim", static_cast<uint64_t>(shape.headDim)},
      {"attr:scale", std::bit_cast<uint32_t>(0.125f)}};
  std::vector<uint64_t> slots;
  uint64_t *layer = nullptr;
  int64_t window = context;
  slots.reserve(map.at("arguments").size());
  for (const auto &argument : map.at("arguments")) {
    const std::string bind = argument.at("bind");
    slots.push_back(bound.at(bind));
    if (bind == "kv.layer")
      layer = &slots.back();
    if (bind == "kv.window")
      window = kWindow;
  }
  for (auto _ : state) {
    provider->bodies[isa](slots.data(), 0, rows * shape.heads);
    benchmark::ClobberMemory();
    *layer = (*layer + 1) % static_cast<uint64_t>(planes.layers);
  }
  int64_t seen = 0;
  for (const int32_t at : position)
    seen += std::min<int64_t>(window, at + 1);
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  const auto count = [&](int64_t each) { return benchmark::Counter(double(seen * each), rate); };
  state.counters["macs"] = count(2 * shape.heads * shape.headDim);
  if (rows == 1)
    state.counters["bytes"] = count(2 * planes.view.token_stride);
}

} // namespace

void registerAttention(const std::string &name, const writ_provider *provider, int isa,
                       const nlohmann::json &map) {
  const int64_t unit = map.at("dimensions").at("head_dim").value("multiple_of", int64_t(1));
  for (const Heads &shape : kHeads)
    for (const int64_t rows : {int64_t(1), kPrefillRows})
      for (const int64_t depth : {0, 448, 4032})
        if (shape.headDim % unit == 0)
          benchmark::RegisterBenchmark((name + "/" + shape.model + "/rows:" + std::to_string(rows) +
                                        "/depth:" + std::to_string(depth))
                                           .c_str(),
                                       [=](benchmark::State &state) {
                                         attention(state, provider, isa, map, shape, rows, depth);
                                       });
}

} // namespace writ::test
