//===- row_tables.h - the rows of a step, before and while it runs --------===//
#pragma once

#include "support/memory.h"
#include "writ/model_abi.h"
#include "writ/writ.h"

namespace writ {

/// Which token an output row belongs to.
struct OutputRow {
  writ_sequence sequence;
  Position position; ///< of the row's token; the token drawn from it stands one further
};

/// Room for the largest step, allocated once.
struct RowTables {
  explicit RowTables(const writ_session_options &options)
      : token(options.max_rows), position(options.max_rows), sequence(options.max_rows),
        outputRow(options.max_outputs), outputIndex(options.max_outputs),
        staged(options.max_outputs), outputs(options.max_outputs), fed(options.max_rows),
        added(options.max_sequences), placed(options.max_sequences), touched(options.max_sequences),
        drawn(options.max_outputs), parameters(options.max_outputs) {}

  FixedArray<int32_t> token, position, sequence; ///< [max_rows], in the order in which they run
  FixedArray<int32_t> outputRow;                 ///< [max_outputs] row within its run
  FixedArray<int32_t> outputIndex; ///< [max_outputs] output that the caller knows it by
  FixedArray<OutputRow> staged;    ///< [max_outputs] outputs of the step being made
  FixedArray<OutputRow> outputs;   ///< [max_outputs] outputs of the last step that ran
  FixedArray<writ_step_row> fed;   ///< [max_rows] rows of one chunk of a fed prompt
  FixedArray<RowCount> added;      ///< [max_sequences] rows of this step; 0 between steps
  FixedArray<RowCount> placed;     ///< [max_sequences] of these, already staged
  FixedArray<int32_t> touched;     ///< [max_sequences] sequences with rows, in order of appearance
  FixedArray<int32_t> drawn;       ///< [max_outputs] sampled tokens before they are handed out
  FixedArray<writ_sample_parameters> parameters; ///< [max_outputs]

  /// `before`: the rows of the step that run before it.
  void setRow(RowCount before, TokenId tokenId, Position at, SequenceId sequenceId) {
    token[before.raw()] = int32_t(tokenId.raw());
    position[before.raw()] = int32_t(at.raw());
    sequence[before.raw()] = int32_t(sequenceId.raw());
  }

  static ByteCount bytesFor(const writ_session_options &options) {
    const int64_t row = int64_t(3 * sizeof(int32_t) + sizeof(writ_step_row));
    const int64_t output =
        int64_t(3 * sizeof(int32_t) + 2 * sizeof(OutputRow) + sizeof(writ_sample_parameters));
    const int64_t slot = int64_t(2 * sizeof(RowCount) + sizeof(int32_t));
    return ByteCount(options.max_rows * row + options.max_outputs * output +
                     options.max_sequences * slot);
  }
  ByteCount bytes() const {
    return token.bytes() + position.bytes() + sequence.bytes() + outputRow.bytes() +
           outputIndex.bytes() + staged.bytes() + outputs.bytes() + fed.bytes() + added.bytes() +
           placed.bytes() + touched.bytes() + drawn.bytes() + parameters.bytes();
  }
};

} // namespace writ
