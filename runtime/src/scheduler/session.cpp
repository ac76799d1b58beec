#include "scheduler/session.h"

#include "scheduler/plan.h"
#include "support/cpu.h"
#include "support/error.h"

#include <cstring>

namespace writ {
namespace {

/// Arenas are written once here, so that no step takes a page fault for them.
AlignedBuffer arena(int64_t bytes, const char *purpose) {
  AlignedBuffer buffer(ByteCount(bytes), purpose);
  if (bytes > 0)
    std::memset(buffer.data(), 0, size_t(bytes));
  return buffer;
}

} // namespace

Session::Session(const Package &package, const writ_session_options &options)
    : package(package), settings(options),
      kv({package.model().kv_groups, package.model().kv_group_count}, kvOptions(options)),
      sequenceTable(options.max_sequences, TokenCount(options.context_tokens)), rowTables(options),
      rowArena(arena(package.model().row_arena_bytes * options.max_rows, "activations")),
      outputArena(arena(package.model().output_arena_bytes * options.max_outputs, "logits")),
      sampleScratch(
          arena(sampleScratchBytes(package.model()).raw() * sampleBatch(options), "the sampler")),
      kept(arena(keptOutputs(package.model(), options) * package.model().vocabulary *
                     int64_t(sizeof(float)),
                 "kept logits")),
      partials(arena(partialBytes(package.model(), options).raw(), "attention")),
      pins(pinsOf(options)), pool(options.threads, processorCount(), pins) {
  kv.setPartials(reinterpret_cast<float *>(partials.data()), partials.size());
  package.sessions().fetch_add(1);
}

writ_memory_plan Session::allocated() const {
  const KvSizes sizes = kv.allocated();
  writ_memory_plan memory{};
  memory.struct_size = sizeof memory;
  memory.weights_bytes = package.model().weights_bytes;
  memory.kv_bytes_per_token = sizes.bytesPerToken.raw();
  memory.kv_pages = kv.groupCount() ? kv.pages(0).total().raw() : kvOptions(settings).pages.raw();
  memory.kv_bytes = sizes.planes.raw();
  memory.row_arena_bytes = rowArena.size().raw();
  memory.output_arena_bytes = outputArena.size().raw();
  memory.sampler_bytes = (sampleScratch.size() + kept.size()).raw();
  memory.table_bytes = (sizes.tables + sequenceTable.bytes() + rowTables.bytes()).raw();
  memory.partial_bytes = partials.size().raw();
  memory.session_bytes = memory.kv_bytes + memory.row_arena_bytes + memory.output_arena_bytes +
                         memory.sampler_bytes + memory.table_bytes + memory.partial_bytes;
  return memory;
}

Session::Call::Call(Session &session, bool fromCallback) : session(session), before(kIdle) {
  entered = session.state.compare_exchange_strong(before, kBusy);
  if (!entered && fromCallback && before == kInCallback)
    entered = session.state.compare_exchange_strong(before, kBusy);
}

Session::Call::~Call() {
  if (entered)
    session.state.store(before);
}

writ_status Session::setThreads(int32_t threads, writ_error *error) {
  if (threads < 1 || threads > pool.threads())
    return report(error, WRIT_INVALID_ARGUMENT,
                  "threads is {}, expected 1 to {} (those the session was created with)", threads,
                  pool.threads());
  pool.setActive(threads);
  return WRIT_OK;
}

writ_status Session::findSequence(writ_sequence handle, SequenceId *sequence,
                                  writ_error *error) const {
  const auto found = sequenceTable.find(handle);
  if (!found)
    return report(
        error, WRIT_INVALID_ARGUMENT,
        "sequence {{slot {}, generation {}}} is not live in this session; it was released "
        "or is another session's",
        handle.slot, handle.generation);
  *sequence = *found;
  return WRIT_OK;
}

writ_status Session::createSequence(writ_sequence *sequence, writ_error *error) {
  const auto made = sequenceTable.create();
  if (!made)
    return report(error, WRIT_OUT_OF_SEQUENCES,
                  "{} sequences live; release one or raise max_sequences", settings.max_sequences);
  *sequence = *made;
  return WRIT_OK;
}

writ_status Session::release(writ_sequence handle, writ_error *error) {
  SequenceId sequence;
  if (const writ_status status = findSequence(handle, &sequence, error); status != WRIT_OK)
    return status;
  kv.shrink(sequence, TokenCount(0));
  sequenceTable.release(sequence);
  return WRIT_OK;
}

writ_status Session::rewind(writ_sequence handle, int64_t length, writ_error *error) {
  SequenceId sequence;
  if (const writ_status status = findSequence(handle, &sequence, error); status != WRIT_OK)
    return status;
  const TokenCount now = sequenceTable.length(sequence);
  if (length < 0 || length > now.raw())
    return report(error, WRIT_INVALID_ARGUMENT,
                  "length is {}, expected 0 to {} (the sequence's length)", length, now.raw());
  kv.shrink(sequence, TokenCount(length));
  sequenceTable.setLength(sequence, TokenCount(length));
  return WRIT_OK;
}

} // namespace writ
