#include "compiler/Tools/writ/OpTrace.h"

#include "compiler/Tools/writ/Compile.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sodium.h>

namespace writ::tool {
namespace {

/// Never 0, which means that there is no row.
uint64_t digestOf(const std::vector<std::vector<std::byte>> &values) {
  static constexpr unsigned char key[crypto_shorthash_KEYBYTES] = {};
  uint64_t digest = 1;
  for (const std::vector<std::byte> &value : values) {
    uint64_t one = 0;
    static_assert(crypto_shorthash_BYTES == sizeof one);
    crypto_shorthash(reinterpret_cast<unsigned char *>(&one),
                     reinterpret_cast<const unsigned char *>(value.data()), value.size(), key);
    digest = digest * 0x9e3779b97f4a7c15 + one;
  }
  return digest ? digest : 1;
}

/// Where K, or V, of a position lies in the pages.
const std::byte *keptAt(const writ_kv_view &view, const void *plane, int64_t layer,
                        int64_t sequence, int64_t position) {
  const int64_t block = view.block_table[sequence * view.table_stride + position / view.block_size];
  return static_cast<const std::byte *>(plane) + layer * view.layer_stride +
         block * view.page_stride + position % view.block_size * view.token_stride;
}

nlohmann::ordered_json settingsOf(const writ_package_info &info, const writ_session_options &used,
                                  const TraceSide &side) {
  return {{"target", side.target},          {"model_name", info.model_name},
          {"profile", info.profile},        {"resolution_sha256", info.resolution_sha256},
          {"threads", used.threads},        {"chunk", used.max_rows / side.batch},
          {"isa", writ_isa_name(used.isa)}, {"batch", side.batch},
          {"page_size", used.page_size},    {"page_order", side.pageOrder},
          {"rewind", side.rewind}};
}

} // namespace

OpTrace::OpTrace(const writ_package *package, const TraceSide &side, std::vector<int32_t> ids)
    : package(package), side(side), facts(readPackageCalls(packageInfo(package).path)) {
  made.ids = std::move(ids);
  made.sequences = side.batch;
  std::map<std::string, size_t> known;
  for (const PackageCall &call : facts.calls) {
    const auto [it, isNew] = known.emplace(call.op, made.ops.size());
    if (isNew)
      made.ops.push_back({call.op, call.family, call.layer});
    opOf.push_back(it->second);
  }
}

void OpTrace::run(const volatile int32_t *stop) {
  made.digests.assign(made.ids.size() * size_t(side.batch) * made.ops.size(), 0);
  wanted = nullptr;
  read(stop, int64_t(made.ids.size()));
}

TracedRow OpTrace::rowAt(const RowPlace &place, const volatile int32_t *stop) {
  wanted = &place;
  found = {};
  read(stop, place.position + 1);
  wanted = nullptr;
  return found;
}

void OpTrace::read(const volatile int32_t *stop, int64_t upTo) {
  ProgressLine progress(fmt::format("tracing {}", side.target));
  const int64_t rows = int64_t(made.ids.size());
  SessionShape shape{rows, std::max(rows, side.rewind), true};
  shape.sequences = side.batch;
  shape.pageSize = side.pageSize;
  shape.pageOrder = side.pageOrder;
  shape.trace = see;
  shape.traceUser = this;
  const SessionPtr session = openSession(package, side.session, shape);
  const writ_session_options used = usedOptions(session.get());
  made.settings = settingsOf(packageInfo(package), used, side);
  writ_error error;
  std::vector<writ_sequence> sequences(size_t(side.batch));
  for (writ_sequence &sequence : sequences)
    check(writ_sequence_create(session.get(), &sequence, &error), error, "sequence");
  fillAndRewind(session.get(), sequences);
  const int64_t chunk = used.max_rows / side.batch;
  for (int64_t first = 0; first < upTo; first += chunk) {
    std::vector<writ_step_row> step;
    for (int64_t i = first; i < std::min(first + chunk, rows); ++i)
      for (const writ_sequence &sequence : sequences) // rows of all sequences mix
        step.push_back({sequence, made.ids[size_t(i)], 1});
    check(writ_session_step(session.get(), step.data(), int64_t(step.size()), &error), error,
          side.target);
    if (failure)
      std::rethrow_exception(std::exchange(failure, nullptr));
    if (*stop)
      throw Interrupted();
    progress.show(double(first + chunk) / double(rows));
  }
}

/// Leaves other keys and values in the pages, which nothing may see.
void OpTrace::fillAndRewind(writ_session *session, const std::vector<writ_sequence> &sequences) {
  writ_error error;
  records = false;
  for (const writ_sequence &sequence : sequences) {
    for (int64_t i = 0; i < side.rewind; ++i) {
      const writ_step_row row{sequence, made.ids[size_t(i * 7 + 3) % made.ids.size()], 0};
      check(writ_session_step(session, &row, 1, &error), error, side.target);
    }
    check(writ_sequence_rewind(session, sequence, 0, &error), error, "sequence");
  }
  records = true;
}

void OpTrace::see(void *user, const writ_step *step, uint32_t call, const writ_provider *provider,
                  const void *args) {
  OpTrace &self = *static_cast<OpTrace *>(user);
  try {
    if (self.records && !self.failure &&
        call < self.facts.calls.size()) // sampling is no call of the step
      self.take(*step, call, *provider, static_cast<const uint64_t *>(args));
  } catch (...) {
    self.failure = std::current_exception();
  }
}

void OpTrace::take(const writ_step &step, uint32_t index, const writ_provider &provider,
                   const uint64_t *slots) {
  const int64_t rows = facts.calls[index].ofOutputs ? step.rows->outputs : step.rows->count;
  for (int64_t row = 0; row < rows; ++row)
    takeRow(step, index, provider, slots, row);
}

void OpTrace::takeRow(const writ_step &step, uint32_t index, const writ_provider &provider,
                      const uint64_t *slots, int64_t row) {
  const PackageCall &call = facts.calls[index];
  const int64_t source = call.ofOutputs ? step.rows->output_row[row] : row;
  const RowPlace place{opOf[index], step.rows->position[source], step.rows->sequence[source]};
  if (wanted && (place.op != wanted->op || place.position != wanted->position ||
                 place.sequence != wanted->sequence))
    return;
  std::vector<std::vector<std::byte>> values;
  std::vector<std::pair<std::string, std::vector<RowField>>> operands;
  const auto add = [&](const std::string &name, std::vector<RowField> fields, const std::byte *at) {
    values.push_back(canonicalRow(fields, at));
    operands.emplace_back(name, std::move(fields));
  };
  for (const CallOperand &operand : call.outputs)
    add(operand.name, rowFields(operand.storage, operand.width, operand.bytes),
        reinterpret_cast<const std::byte *>(slots[operand.slot]) + row * operand.bytes);
  if (call.shape->writesKv) {
    const PackageKvGroup &group = facts.kvGroups.at(size_t(call.kvGroup));
    const writ_kv_view &view = step.kv[call.kvGroup];
    for (const auto &[name, plane] : {std::pair("k", view.k_plane), std::pair("v", view.v_plane)})
      add(name, rowFields(group.storage, group.width, group.bytes),
          keptAt(view, plane, call.kvLayer, place.sequence, place.position));
  }
  if (!wanted)
    made.digests[made.indexOf(place)] = digestOf(values);
  else
    found = {call.phase,
             provider.id,
             writ_traced_isa(&step, &provider),
             row,
             step.rows->count,
             std::move(operands),
             std::move(values)};
}

} // namespace writ::tool
