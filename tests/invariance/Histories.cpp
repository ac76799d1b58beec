//===- Histories.cpp - one op over the same rows in many ways -------------===//
#include "tests/invariance/Histories.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace writ::test {
namespace {

constexpr size_t kSequences = 3; ///< of makeProblem's rows, in turn
constexpr size_t kChunk = 4; ///< of each sequence in a step, where the chunk is not what changes

/// Whether the op has rows; one that is computed when compiling is one row of its own.
bool hasRows(const Problem &problem) {
  return problem.call.dimensions.contains("rows");
}
size_t rowCount(const Problem &problem) {
  return hasRows(problem) ? static_cast<size_t>(problem.call.dimensions.at("rows")) : 1;
}

/// The rows of one sequence, ascending, in chunks.
std::vector<std::vector<size_t>> chunksOf(const Problem &problem, size_t sequence, size_t chunk) {
  std::vector<std::vector<size_t>> steps;
  for (size_t row = sequence, i = 0; row < rowCount(problem); row += kSequences, ++i) {
    if (i % chunk == 0)
      steps.emplace_back();
    steps.back().push_back(row);
  }
  return steps;
}

/// Steps that hold a chunk of each of these sequences.
std::vector<std::vector<size_t>> together(const Problem &problem,
                                          const std::vector<size_t> &sequences) {
  std::vector<std::vector<size_t>> steps;
  for (const size_t sequence : sequences) {
    const auto chunks = chunksOf(problem, sequence, kChunk);
    steps.resize(std::max(steps.size(), chunks.size()));
    for (size_t i = 0; i < chunks.size(); ++i)
      steps[i].insert(steps[i].end(), chunks[i].begin(), chunks[i].end());
  }
  return steps;
}

std::vector<std::vector<size_t>> alone(const Problem &problem, size_t chunk) {
  std::vector<std::vector<size_t>> steps;
  for (size_t sequence = 0; sequence < kSequences; ++sequence)
    for (auto &step : chunksOf(problem, sequence, chunk))
      steps.push_back(std::move(step));
  return steps;
}

/// K and V as the step finds them: what its sequences hold up to its rows, and anything behind.
reference::KvState cacheOf(const Problem &problem, const std::vector<size_t> &rows,
                           uint64_t leftovers, size_t slotShift) {
  reference::KvState kv = problem.kv;
  if (problem.family() != "attention")
    return kv;
  Random random(leftovers);
  const auto bytes = static_cast<size_t>(reference::rowBytes(kv.storage, kv.headDim) * kv.kvHeads);
  for (size_t index = 0; index < kv.sequences.size(); ++index) {
    int64_t last = -1;
    for (const size_t row : rows)
      if (problem.call.rows.sequence[row] == static_cast<int32_t>(index))
        last = std::max<int64_t>(last, problem.call.rows.position[row]);
    for (auto *plane : {&kv.sequences[index].k, &kv.sequences[index].v}) {
      plane->resize(static_cast<size_t>(last + 1) * bytes);
      for (size_t i = 0; i < 3 * bytes; ++i)
        plane->push_back(leftovers % 2 ? std::byte{0xff} : static_cast<std::byte>(random.bits()));
    }
  }
  std::rotate(kv.sequences.rbegin(), kv.sequences.rbegin() + static_cast<ptrdiff_t>(slotShift),
              kv.sequences.rend());
  return kv;
}

/// Rows of an operand, gathered.
Buffer gathered(std::span<const std::byte> all, size_t rowBytes, const std::vector<size_t> &rows) {
  Buffer buffer(rows.size() * rowBytes);
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(buffer.base() + i * rowBytes, all.data() + rows[i] * rowBytes, rowBytes);
  return buffer;
}

/// The bits of a row of an output, with one pattern for every NaN.
std::string bitsOf(const std::string &storage, std::span<const std::byte> bytes) {
  std::string bits(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (storage != "f32" && storage != "f16" && storage != "bf16")
    return bits;
  const auto element = static_cast<size_t>(reference::rowBytes(storage, 1));
  for (size_t i = 0; i < bits.size() / element; ++i)
    if (const float value = reference::readScalar(storage, bytes.data(), static_cast<int64_t>(i));
        value != value)
      bits.replace(i * element, element, element, '?');
  return bits;
}

/// One step of a way: a call of some of the rows.
class Step {
public:
  Step(const Problem &problem, const Way &way, const std::vector<size_t> &rows);
  void run() { reference::findReference("reference_" + problem.family())(call); }
  /// Appends what each row wrote to its result.
  void collect(std::vector<std::string> &results) const;

private:
  const Problem &problem;
  const std::vector<size_t> &rows;
  reference::Call call;
  std::map<std::string, Buffer> buffers;
  reference::KvState kv;
};

Step::Step(const Problem &problem, const Way &way, const std::vector<size_t> &rows)
    : problem(problem), rows(rows), call(problem.call),
      kv(cacheOf(problem, rows, way.leftovers, way.slotShift)) {
  const size_t all = rowCount(problem);
  call.contract = &problem.contract;
  call.vocabulary = &problem.vocabulary;
  call.functions = &problem.functions;
  call.schedule = way.schedule;
  if (hasRows(problem))
    call.dimensions["rows"] = static_cast<int64_t>(rows.size());
  if (call.kv)
    call.kv = &kv;
  const nlohmann::json &kinds = problem.vocabulary["families"][problem.family()]["operands"];
  for (auto &[name, operand] : call.operands) {
    const std::string kind = kinds[name];
    const bool ofRows = operand.shape.front() == static_cast<int64_t>(all) && kind == "input";
    if (kind != "output" && !ofRows)
      continue;
    buffers[name] = gathered(operand.bytes, operand.bytes.size() / all, rows);
    if (kind == "output")
      buffers[name].poison();
    if (hasRows(problem))
      operand.shape.front() = static_cast<int64_t>(rows.size());
    operand.bytes = buffers[name].bytes();
  }
  reference::Rows &mine = call.rows;
  mine = {};
  call.samples.clear();
  for (const size_t row : hasRows(problem) ? rows : std::vector<size_t>()) {
    mine.token.push_back(problem.call.rows.token[row]);
    mine.position.push_back(problem.call.rows.position[row]);
    mine.sequence.push_back(static_cast<int32_t>(
        (static_cast<size_t>(problem.call.rows.sequence[row]) + way.slotShift) % kSequences));
    mine.outputRow.push_back(problem.call.rows.outputRow[row]);
    if (!problem.call.samples.empty())
      call.samples.push_back(problem.call.samples[row]);
  }
}

void Step::collect(std::vector<std::string> &results) const {
  for (const std::string &output : problem.outputs()) {
    const std::span<const std::byte> bytes = buffers.at(output).bytes();
    const size_t size = bytes.size() / rows.size();
    for (size_t i = 0; i < rows.size(); ++i)
      results[rows[i]] += bitsOf(call.operands.at(output).storage, bytes.subspan(i * size, size));
  }
  if (problem.family() != "kv_store")
    return;
  const auto size = static_cast<size_t>(reference::rowBytes(kv.storage, kv.headDim) * kv.kvHeads);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto &sequence = kv.sequences.at(static_cast<size_t>(call.rows.sequence[i]));
    for (const auto *plane : {&sequence.k, &sequence.v})
      results[rows[i]] += bitsOf(
          kv.storage,
          std::span(*plane).subspan(static_cast<size_t>(call.rows.position[i]) * size, size));
  }
}

} // namespace

std::vector<std::string> resultsOf(const Problem &problem, const Way &way) {
  std::vector<std::string> results(rowCount(problem));
  for (const std::vector<size_t> &rows : way.steps) {
    Step step(problem, way, rows);
    step.run();
    step.collect(results);
  }
  return results;
}

std::vector<Comparison> comparisonsOf(const Problem &problem) {
  Comparison shared, single;
  shared.base.steps = together(problem, {0, 1, 2});
  const auto vary = [&](const char *dimension, const std::string &name, auto change) {
    Way way = shared.base;
    way.dimension = dimension;
    way.name = name;
    change(way);
    shared.others.push_back(std::move(way));
  };
  for (const uint64_t run : {1, 2}) {
    vary("run", "run " + std::to_string(run), [&](Way &way) { way.schedule.run = run; });
    vary("run", "other leftovers " + std::to_string(run), [&](Way &way) { way.leftovers = run; });
  }
  vary("run", "other slots of the cache", [](Way &way) { way.slotShift = 1; });
  for (const int64_t workers : {2, 3, 7})
    vary("threads", std::to_string(workers) + " workers",
         [&](Way &way) { way.schedule.workers = workers; });
  vary("batch", "each sequence alone", [&](Way &way) { way.steps = alone(problem, kChunk); });
  vary("batch", "two sequences, then the third", [&](Way &way) {
    way.steps = together(problem, {0, 1});
    for (auto &step : together(problem, {2}))
      way.steps.push_back(std::move(step));
  });
  vary("batch", "sequences in another order", [&](Way &way) {
    way.steps = together(problem, {2, 0, 1});
  });
  vary("batch", "rows of a step backwards", [&](Way &way) {
    for (auto &step : way.steps)
      std::reverse(step.begin(), step.end());
  });
  for (const char *isa : {"avx2", "avx512", "neon"})
    vary("isa", isa, [&](Way &way) { way.schedule.isa = isa; });
  for (const char *device : {"cuda sm_90", "cuda sm_80", "metal"})
    vary("device", device, [&](Way &way) { way.schedule.device = device; });
  for (const char *compiler : {"g++ -O2", "g++ -O3", "clang++ -O2"})
    vary("compiler", compiler, [&](Way &way) { way.schedule.compiler = compiler; });

  // Alone, so that a chunk's length is all that changes: 1 is decode, the whole is one prefill.
  single.base.steps = alone(problem, kChunk);
  const size_t longest = (rowCount(problem) + kSequences - 1) / kSequences;
  for (const size_t chunk : {size_t(1), size_t(7), size_t(16), size_t(32), longest})
    if (chunk <= longest) {
      Way way = single.base;
      way.dimension = "chunking";
      way.name = "chunks of " + std::to_string(chunk);
      way.steps = alone(problem, chunk);
      single.others.push_back(std::move(way));
    }
  return {shared, single};
}

std::vector<Change> changesOf(const Problem &problem, const std::vector<Comparison> &comparisons) {
  std::vector<Change> changes;
  for (const Comparison &comparison : comparisons) {
    const std::vector<std::string> base = resultsOf(problem, comparison.base);
    for (const Way &way : comparison.others) {
      const std::vector<std::string> other = resultsOf(problem, way);
      for (size_t row = 0; row < base.size(); ++row)
        if (base[row] != other[row])
          changes.push_back({way.dimension, way.name, row,
                             hasRows(problem) ? problem.call.rows.position[row] + int64_t(1) : 0});
    }
  }
  return changes;
}

std::unique_ptr<Problem> historyOf(const nlohmann::json &contract, const nlohmann::json &vocabulary,
                                   int64_t first, int64_t steps, Fill fill, uint64_t seed) {
  const std::string family = contract["family"];
  const bool bySmallBlocks = family != "embedding" && family != "linear";
  const Dimensions sizes{{"rows", steps * int64_t(kSequences)},
                         {"k", family == "quantize_activation" ? 256 : 512},
                         {"n", family == "linear" ? 3
                               : family == "gate" ? 20
                               : bySmallBlocks    ? 70
                                                  : 256},
                         {"vectors", 2},
                         {"vocabulary", 20},
                         {"heads", 2},
                         {"kv_heads", 1},
                         {"head_dim", 32},
                         {"rope_dims", 8}};
  Dimensions shape;
  for (const std::string dimension : vocabulary["families"][family]["dimensions"])
    shape[dimension] = sizes.at(dimension);
  ProblemOptions options{fill, seed, true, {}};
  for (int64_t row = 0; row < steps * int64_t(kSequences); ++row)
    options.positions.push_back(static_cast<int32_t>(first + row / int64_t(kSequences)));
  return makeProblemOf(contract, shape, options, vocabulary);
}

} // namespace writ::test
