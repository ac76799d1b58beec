//===- step.cpp - one step: validate, reserve, run, commit ----------------===//

#include "scheduler/key_parts.h"
#include "scheduler/plan.h"
#include "scheduler/session.h"
#include "support/cpu.h"
#include "support/error.h"
#include "support/float_environment.h"

#include <cstring>

namespace writ {

writ_status Session::checkToken(int32_t token, const char *what, int64_t index,
                                writ_error *error) const {
  if (token >= 0 && token < package.model().vocabulary)
    return WRIT_OK;
  return report(error, WRIT_INVALID_ARGUMENT, "{}[{}] is token {}, expected 0 to {}", what, index,
                token, package.model().vocabulary - 1);
}

/// Counts the rows of each sequence in rowTables.added. Changes nothing else.
writ_status Session::validate(const writ_step_row *rows, int64_t count, OutputCount *outputs,
                              writ_error *error) {
  *outputs = OutputCount(0);
  for (int64_t i = 0; i < count; ++i) {
    SequenceId sequence;
    if (const writ_status status = findSequence(rows[i].sequence, &sequence, error);
        status != WRIT_OK)
      return status;
    if (const writ_status status = checkToken(rows[i].token, "rows", i, error); status != WRIT_OK)
      return status;
    RowCount &added = rowTables.added[sequence.raw()];
    if (added == RowCount(0))
      rowTables.touched[rowsTouched++] = int32_t(sequence.raw());
    added += RowCount(1);
    const TokenCount length = sequenceTable.length(sequence) + tokensOf(added);
    if (length > TokenCount(settings.context_tokens))
      return report(error, WRIT_CONTEXT_FULL,
                    "rows[{}] would be token {} of its sequence, but context_tokens is {}", i,
                    length.raw(), settings.context_tokens);
    *outputs += OutputCount(rows[i].output ? 1 : 0);
    if (*outputs > OutputCount(settings.max_outputs))
      return report(error, WRIT_INVALID_ARGUMENT,
                    "rows[{}] is output {} of the step, but max_outputs is {}", i, outputs->raw(),
                    settings.max_outputs);
  }
  return WRIT_OK;
}

void Session::forgetRows() {
  for (int64_t i = 0; i < rowsTouched; ++i)
    rowTables.added[rowTables.touched[i]] = RowCount(0);
  rowsTouched = 0;
}

writ_status Session::step(const writ_step_row *rows, int64_t count, const volatile int32_t *stop,
                          writ_error *error) {
  if (!rows)
    return report(error, WRIT_INVALID_ARGUMENT, "rows is null");
  if (count < 1 || count > settings.max_rows)
    return report(error, WRIT_INVALID_ARGUMENT, "count is {}, expected 1 to {} (max_rows)", count,
                  settings.max_rows);
  OutputCount outputs;
  writ_status status = validate(rows, count, &outputs, error);
  if (status == WRIT_OK && faultAt(StepStage::validated))
    status = report(error, WRIT_INTERNAL, "a fault was injected after validation");
  if (status == WRIT_OK)
    status = stageAndRun(rows, count, outputs, stop, error);
  forgetRows();
  return status;
}

writ_status Session::stageAndRun(const writ_step_row *rows, int64_t count, OutputCount outputs,
                                 const volatile int32_t *stop, writ_error *error) {
  if (const writ_status status = package.weightsHold(error); status != WRIT_OK)
    return status;
  const PinnedCaller pinned(pins.empty() ? -1 : pins.front());
  if (pinned.failure())
    return report(error, WRIT_UNSUPPORTED, "cannot bind the calling thread to processor {}: {}",
                  pins.front(), std::strerror(pinned.failure()));
  if (const writ_status status = reserve(error); status != WRIT_OK)
    return status;
  if (faultAt(StepStage::reserved)) {
    unreserve();
    return report(error, WRIT_INTERNAL, "a fault was injected after the reservation");
  }
  StepRun runs[2];
  const int64_t runCount = stage(rows, count, runs);
  outputsReady = OutputCount(0);
  logitsBase = reinterpret_cast<const float *>(outputArena.data() + package.model().logits_offset *
                                                                        settings.max_outputs);
  pool.watch(stop);
  for (int64_t i = 0; i < runCount; ++i) {
    run(runs[i]);
    if (runCount > 1)
      keepLogits(runs[i]);
  }
  if (pool.endWatch()) {
    unreserve();
    return report(error, WRIT_STOPPED, "stopped between two kernels of the step");
  }
  if (const writ_status status = package.weightsHold(error); status != WRIT_OK) {
    unreserve();
    return status;
  }
  if (faultAt(StepStage::ran)) {
    unreserve();
    return report(error, WRIT_INTERNAL, "a fault was injected after the run");
  }
  commit(outputs);
  return WRIT_OK;
}

/// Pages for every row of the step, or none.
writ_status Session::reserve(writ_error *error) {
  const int64_t available = kv.available().raw();
  int64_t wanted = 0;
  for (int64_t i = 0; i < rowsTouched; ++i) {
    const SequenceId sequence(rowTables.touched[i]);
    const TokenCount length =
        sequenceTable.length(sequence) + tokensOf(rowTables.added[sequence.raw()]);
    wanted += std::max<int64_t>(0, pagesFor(length, kv.pageSize()).raw() - kv.held(sequence).raw());
    if (!kv.grow(sequence, length)) {
      unreserve();
      return report(error, WRIT_OUT_OF_PAGES,
                    "the step needs {} or more KV pages of {} tokens, but {} are free; release or "
                    "rewind a sequence, or raise kv_tokens",
                    wanted, settings.page_size, available);
    }
  }
  return WRIT_OK;
}

void Session::unreserve() {
  for (int64_t i = 0; i < rowsTouched; ++i) {
    const SequenceId sequence(rowTables.touched[i]);
    kv.shrink(sequence, sequenceTable.length(sequence));
  }
}

/// Puts the rows into the order in which they run. Rows of a sequence with one row in this step are
/// decode rows. Where both phases resolve alike a mixed step is one run of prefill; otherwise it is
/// split, prefill first.
int64_t Session::stage(const writ_step_row *rows, int64_t count, StepRun *runs) {
  int64_t single = 0;
  for (int64_t i = 0; i < rowsTouched; ++i) {
    single += rowTables.added[rowTables.touched[i]] == RowCount(1);
    rowTables.placed[rowTables.touched[i]] = RowCount(0);
  }
  const bool allDecode = single == rowsTouched;
  runs[0].decode = allDecode;
  if (allDecode || single == 0 || package.model().phases_alike) {
    place(rows, count, /*all=*/true, &runs[0]);
    return 1;
  }
  place(rows, count, /*all=*/false, &runs[0]);
  runs[1].firstRow = runs[0].rows;
  runs[1].firstOutput = runs[0].outputs;
  runs[1].decode = true;
  place(rows, count, /*all=*/false, &runs[1]);
  return 2;
}

void Session::place(const writ_step_row *rows, int64_t count, bool all, StepRun *run) {
  int64_t output = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = rows[i].output ? output++ : -1;
    const int64_t slot = rows[i].sequence.slot;
    if (!all && (rowTables.added[slot] == RowCount(1)) != run->decode)
      continue;
    const SequenceId sequence(slot);
    const Position position =
        positionAfter(sequenceTable.length(sequence) + tokensOf(rowTables.placed[slot]));
    rowTables.placed[slot] += RowCount(1);
    rowTables.setRow(run->firstRow + run->rows, TokenId(rows[i].token), position, sequence);
    if (index >= 0) {
      const int64_t entry = (run->firstOutput + run->outputs).raw();
      rowTables.outputRow[entry] = int32_t(run->rows.raw());
      rowTables.outputIndex[entry] = int32_t(index);
      rowTables.staged[index] = {rows[i].sequence, position};
      run->outputs += OutputCount(1);
    }
    run->rows += RowCount(1);
  }
}

writ_step Session::launchContext() {
  writ_step context{};
  context.kv = kv.views();
  context.weights = package.weights();
  context.row_arena = rowArena.data();
  context.output_arena = outputArena.data();
  context.max_rows = settings.max_rows;
  context.max_outputs = settings.max_outputs;
  context.isa = writ_isa(settings.isa);
  context.pool = &pool;
  context.trace = settings.trace;
  context.trace_user = settings.trace_user;
  return context;
}

void Session::run(const StepRun &run) {
  const FloatEnvironment environment;
  if (settings.poison) {
    if (rowArena.size() > ByteCount(0))
      std::memset(rowArena.data(), 0xff, size_t(rowArena.size().raw()));
    std::memset(outputArena.data(), 0xff, size_t(outputArena.size().raw()));
  }
  const int64_t firstRow = run.firstRow.raw();
  const writ_rows rows{run.rows.raw(),
                       rowTables.token.data() + firstRow,
                       rowTables.position.data() + firstRow,
                       rowTables.sequence.data() + firstRow,
                       run.outputs.raw(),
                       rowTables.outputRow.data() + run.firstOutput.raw()};
  writ_step context = launchContext();
  context.rows = &rows;
  for (uint32_t group = 0; group < package.model().kv_group_count; ++group)
    kv.setParts(group, keyParts(package.model().kv_groups[group],
                                {rows.position, size_t(rows.count)}, pool.active()));
  const writ_model_desc &model = package.model();
  (run.decode ? model.decode : model.prefill)(&context);
}

/// Copies a run's logits to where the outputs of the whole step stand in the caller's order.
void Session::keepLogits(const StepRun &run) {
  const int64_t vocabulary = package.model().vocabulary;
  const float *from = reinterpret_cast<const float *>(
      outputArena.data() + package.model().logits_offset * settings.max_outputs);
  float *to = reinterpret_cast<float *>(kept.data());
  for (int64_t i = 0; i < run.outputs.raw(); ++i)
    std::memcpy(to + rowTables.outputIndex[run.firstOutput.raw() + i] * vocabulary,
                from + i * vocabulary, size_t(vocabulary) * sizeof(float));
  logitsBase = to;
}

void Session::commit(OutputCount outputs) {
  RowCount rows;
  for (int64_t i = 0; i < rowsTouched; ++i)
    rows += rowTables.added[rowTables.touched[i]];
  for (int64_t row = 0; row < rows.raw(); ++row)
    sequenceTable.setToken(SequenceId(rowTables.sequence[row]), Position(rowTables.position[row]),
                           TokenId(rowTables.token[row]));
  for (int64_t i = 0; i < rowsTouched; ++i) {
    const SequenceId sequence(rowTables.touched[i]);
    sequenceTable.setLength(sequence, sequenceTable.length(sequence) +
                                          tokensOf(rowTables.added[sequence.raw()]));
  }
  for (int64_t i = 0; i < outputs.raw(); ++i)
    rowTables.outputs[i] = rowTables.staged[i];
  outputsReady = outputs;
}

} // namespace writ
