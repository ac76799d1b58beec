#include "scheduler/plan.h"

#include "pool/thread_pool.h"
#include "scheduler/row_tables.h"
#include "scheduler/sequence_table.h"
#include "support/cpu.h"
#include "support/error.h"

namespace writ {
namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr int64_t kDefaultRows = 512;
constexpr int64_t kDefaultPageSize = 32;
constexpr int64_t kMaxRows = 1 << 20;
constexpr int64_t kMaxSequences = 1 << 16;
constexpr int64_t kMaxPageSize = 1 << 16;
/// Of one row at 32,768 positions with 32 heads of 128: 2.4 MB.
constexpr int64_t kPartialBytes = 4 << 20;

int64_t inRange(const char *name, int64_t value, int64_t least, int64_t most,
                const char *why = "") {
  if (value < least || value > most)
    fail(WRIT_INVALID_ARGUMENT, "{} is {}, expected {} to {}{}", name, value, least, most, why);
  return value;
}

int64_t orDefault(int64_t value, int64_t standard) {
  return value == 0 ? standard : value;
}

template <class... Factors> ByteCount product(const char *what, Factors... factors) {
  const auto bytes = checkedMultiply(factors...);
  if (!bytes)
    fail(WRIT_INVALID_ARGUMENT,
         "{} would take more than 2^63 bytes; lower max_rows, max_outputs or max_sequences", what);
  return ByteCount(*bytes);
}

int64_t total(std::initializer_list<int64_t> parts) {
  int64_t sum = 0;
  for (const int64_t part : parts) {
    const auto next = checkedAdd(sum, part);
    if (!next)
      fail(WRIT_INVALID_ARGUMENT, "the session would take more than 2^63 bytes");
    sum = *next;
  }
  return sum;
}

} // namespace

writ_session_options resolveOptions(const Package &package, const writ_session_options &given) {
  const int64_t limit = package.model().context_length;
  writ_session_options out = given;
  out.context_tokens =
      inRange("context_tokens", orDefault(given.context_tokens, std::min(kDefaultContext, limit)),
              1, limit, " (the model's context length)");
  out.max_sequences = inRange("max_sequences", orDefault(given.max_sequences, 1), 1, kMaxSequences);
  out.max_rows = inRange("max_rows", orDefault(given.max_rows, kDefaultRows), 1, kMaxRows);
  out.max_outputs = inRange("max_outputs",
                            orDefault(given.max_outputs, std::min(out.max_sequences, out.max_rows)),
                            1, out.max_rows, " (max_rows)");
  out.page_size =
      inRange("page_size", orDefault(given.page_size, kDefaultPageSize), 1, kMaxPageSize);
  const TokenCount pageSize(out.page_size);
  const int64_t perSequence = pagesFor(TokenCount(out.context_tokens), pageSize).raw();
  // At most 2^31 / 1 * 2^16: no overflow.
  const int64_t pages =
      given.kv_tokens == 0
          ? perSequence * out.max_sequences
          : pagesFor(TokenCount(inRange("kv_tokens", given.kv_tokens, 1, int64_t(1) << 46)),
                     pageSize)
                .raw();
  out.kv_tokens = inRange("the number of KV pages", pages, 1, INT32_MAX,
                          "; raise page_size, or lower kv_tokens or max_sequences") *
                  out.page_size;
  out.threads = int32_t(inRange(
      "threads", orDefault(given.threads, std::min(processorCount(), ThreadPool::kMaxThreads)), 1,
      ThreadPool::kMaxThreads));
  inRange("pin", given.pin, 0, 1);
  pinsOf(out); // refuses more threads than processors
  const writ_isa best = bestIsa(), least = package.lock().leastIsa;
  if (!supportsIsa(least))
    fail(WRIT_UNSUPPORTED,
         "the package was compiled to run with '{}' or more, but this machine supports '{}' at "
         "best; compile the model without --least-isa",
         writ_isa_name(least), writ_isa_name(best));
  if (given.isa == WRIT_ISA_BEST)
    out.isa = best;
  else if (given.isa < WRIT_ISA_SCALAR || given.isa >= WRIT_ISA_COUNT)
    fail(WRIT_INVALID_ARGUMENT, "isa is {}, expected WRIT_ISA_BEST or a writ_isa", given.isa);
  else if (!supportsIsa(writ_isa(given.isa)))
    fail(WRIT_UNSUPPORTED, "isa is '{}', but this machine supports '{}' at best",
         writ_isa_name(given.isa), writ_isa_name(best));
  return out;
}

KvOptions kvOptions(const writ_session_options &options) {
  KvOptions kv;
  kv.pageSize = TokenCount(options.page_size);
  kv.pages = pagesFor(TokenCount(options.kv_tokens), kv.pageSize);
  kv.pagesPerSequence = pagesFor(TokenCount(options.context_tokens), kv.pageSize);
  kv.sequences = options.max_sequences;
  kv.orderSeed = options.page_order_seed;
  kv.poison = options.poison != 0;
  return kv;
}

std::vector<int> pinsOf(const writ_session_options &options) {
  if (!options.pin)
    return {};
  std::vector<int> numbers = processors();
  if (options.threads > int64_t(numbers.size()))
    fail(WRIT_INVALID_ARGUMENT,
         "pin is 1 and threads is {}, but this thread may run on {} processors; lower threads",
         options.threads, numbers.size());
  return numbers;
}

ByteCount partialBytes(const writ_model_desc &model, const writ_session_options &options) {
  const bool divides = model.kv_group_count > 0 && options.threads > 1;
  return ByteCount(divides ? kPartialBytes : 0);
}

int64_t sampleBatch(const writ_session_options &options) {
  return std::min(options.max_outputs, options.max_sequences);
}

ByteCount sampleScratchBytes(const writ_model_desc &model) {
  return ByteCount(model.vocabulary * 16);
}

int64_t keptOutputs(const writ_model_desc &model, const writ_session_options &options) {
  return model.phases_alike ? 0 : options.max_outputs;
}

writ_memory_plan planMemory(const Package &package, const writ_session_options &options) {
  const writ_model_desc &model = package.model();
  const KvSizes kv = KvCache::plan({model.kv_groups, model.kv_group_count}, kvOptions(options));
  writ_memory_plan plan{};
  plan.struct_size = sizeof plan;
  plan.weights_bytes = model.weights_bytes;
  plan.kv_bytes_per_token = kv.bytesPerToken.raw();
  plan.kv_pages = kvOptions(options).pages.raw();
  plan.kv_bytes = kv.planes.raw();
  plan.row_arena_bytes =
      product("the arena of rows", model.row_arena_bytes, options.max_rows).raw();
  plan.output_arena_bytes =
      product("the arena of outputs", model.output_arena_bytes, options.max_outputs).raw();
  plan.sampler_bytes =
      total({product("the sampler", sampleScratchBytes(model).raw(), sampleBatch(options)).raw(),
             product("the kept logits", model.vocabulary, int64_t(sizeof(float)),
                     keptOutputs(model, options))
                 .raw()});
  plan.table_bytes = total(
      {kv.tables.raw(),
       SequenceTable::bytesFor(options.max_sequences, TokenCount(options.context_tokens)).raw(),
       RowTables::bytesFor(options).raw()});
  plan.partial_bytes = partialBytes(model, options).raw();
  plan.session_bytes = total({plan.kv_bytes, plan.row_arena_bytes, plan.output_arena_bytes,
                              plan.sampler_bytes, plan.table_bytes, plan.partial_bytes});
  return plan;
}

} // namespace writ
