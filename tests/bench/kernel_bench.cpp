//===- kernel_bench.cpp - speed of the kernels on one thread --------------===//
//
// Every linear provider at the shapes of SmolLM2-135M that it takes and one of Gemma 3 270M, for
// one row (decode) and for prefill, and attention at a few depths (attention_bench.h), for each
// instruction set of the machine.
//
//   kernel_bench --benchmark_filter='linear_q4_1_i8_b32/avx512'
//
// bytes/s counts the packed weights once, or K and V (decode is bound by memory), macs/s
// multiply-adds. The weights of a decode shape are repeated until they exceed the caches, as those
// of a whole model do.
//
//===----------------------------------------------------------------------===//
#include "compiler/Emit/PackWeights.h"
#include "tests/bench/attention_bench.h"
#include "tests/kernels/kernel_case.h"
#include "writ/packed_layout.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace writ::test {
namespace {

struct Shape {
  int64_t k, n;
};
constexpr Shape kShapes[] = {{576, 576},  {576, 192},   {576, 1536},
                             {1536, 576}, {576, 49152}, {2048, 640}};
constexpr int64_t kDecodeBytes = 192ll << 20;

/// Zeroed memory at a cache line's start, on large pages where the system gives them.
struct Buffer {
  explicit Buffer(int64_t bytes)
      : data(static_cast<std::byte *>(std::aligned_alloc(1 << 21, alignUp(bytes, 1 << 21)))) {
    std::memset(data, 0, static_cast<size_t>(bytes));
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  std::byte *data;
};

void linear(benchmark::State &state, const writ_provider *provider, int isa, int64_t rows,
            Shape shape) {
  const nlohmann::json map = readMap(provider->id);
  const std::string storage = map.at("operands").at("weight").at("storage");
  const std::string layout = map.at("operands").at("weight").at("layout");
  const std::string activationStorage = map.at("operands").at("activation").at("storage");
  const bool codes = activationStorage != "f32";
  Random random(1);
  const int64_t bytes = packedBytes(layout, storage, shape.n, shape.k);
  const int64_t copies = rows == 1 ? std::max<int64_t>(1, kDecodeBytes / bytes) : 1;
  const Buffer weights(bytes * copies);
  const Bytes file = randomWeight(storage, shape.n, shape.k, Values::ordinary, random);
  if (!packWeight(layout, storage, shape.n, shape.k, file.data(), weights.data))
    return state.SkipWithError("cannot pack");
  for (int64_t i = 1; i < copies; ++i)
    std::memcpy(weights.data + i * bytes, weights.data, static_cast<size_t>(bytes));
  Bytes activation, quantized;
  fillFloats(activation, rows * shape.k, Values::ordinary, random);
  if (codes)
    quantized = quantizeRows(activationStorage, rows, shape.k, activation);
  std::vector<float> out(static_cast<size_t>(rows * shape.n));
  int64_t copy = 0;
  for (auto _ : state) {
    const uint64_t slots[] = {
        reinterpret_cast<uint64_t>(codes ? quantized.data() : activation.data()),
        reinterpret_cast<uint64_t>(weights.data + copy * bytes),
        0,
        reinterpret_cast<uint64_t>(out.data()),
        static_cast<uint64_t>(rows),
        static_cast<uint64_t>(shape.k),
        static_cast<uint64_t>(shape.n)};
    provider->bodies[isa](slots, 0, panelCount(shape.n));
    benchmark::ClobberMemory();
    copy = (copy + 1) % copies;
  }
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["bytes"] = benchmark::Counter(static_cast<double>(bytes), rate);
  state.counters["macs"] = benchmark::Counter(static_cast<double>(rows * shape.n * shape.k), rate);
}

/// The other providers, at the sizes of their test cases' makers.
void anyCase(benchmark::State &state, const writ_provider *provider, int isa) {
  const auto test = makeCase(provider->id, Values::ordinary, 11);
  const std::vector<uint64_t> slots = test->arguments();
  const int64_t units = test->units();
  for (auto _ : state)
    provider->bodies[isa](slots.data(), 0, units);
}

} // namespace
} // namespace writ::test

int main(int argc, char **argv) {
  using namespace writ::test;
  for (const std::string &id : providerIds()) {
    const writ_provider *provider = writ_find_provider(id.c_str());
    const nlohmann::json map = readMap(id);
    const std::string op = map.at("op");
    for (int isa = 0; isa < WRIT_ISA_COUNT; ++isa) {
      if (!provider->bodies[isa] || !machineHas(static_cast<writ_isa>(isa)))
        continue;
      const std::string name = id + "/" + isaName(isa);
      if (op == "linear") {
        const int64_t unit = map.at("dimensions").at("k").value("multiple_of", int64_t(1));
        for (const int64_t rows : {1, 6, 512})
          for (const Shape shape : kShapes)
            if (shape.k % unit == 0 && (rows < 512 || shape.n < 10000))
              benchmark::RegisterBenchmark(
                  (name + "/rows:" + std::to_string(rows) + "/k:" + std::to_string(shape.k) +
                   "/n:" + std::to_string(shape.n))
                      .c_str(),
                  [=](benchmark::State &state) { linear(state, provider, isa, rows, shape); });
      } else if (op == "attention") {
        registerAttention(name, provider, isa, map);
      } else {
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State &state) { anyCase(state, provider, isa); });
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
