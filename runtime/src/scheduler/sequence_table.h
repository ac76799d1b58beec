//===- sequence_table.h - which sequences live, and what they hold --------===//
#pragma once

#include "support/memory.h"
#include "writ/writ.h"

#include <optional>

namespace writ {

/// Committed state of a session's sequences: length and token history. A handle is a slot and the
/// slot's generation, so that a handle of a released sequence is never taken for its successor.
class SequenceTable {
public:
  SequenceTable(int64_t sequences, TokenCount context)
      : context(context), generations(sequences, 1), alive(sequences), lengths(sequences),
        tokens(sequences * context.raw()) {}

  /// Nothing where every slot is taken.
  std::optional<writ_sequence> create();
  /// Nothing where the handle is stale or never was one.
  std::optional<SequenceId> find(writ_sequence handle) const;
  void release(SequenceId sequence);

  TokenCount length(SequenceId sequence) const { return TokenCount(lengths[sequence.raw()]); }
  void setLength(SequenceId sequence, TokenCount length) { lengths[sequence.raw()] = length.raw(); }
  /// What lies beyond the length is provisional.
  void setToken(SequenceId sequence, Position position, TokenId token) {
    tokens[sequence.raw() * context.raw() + position.raw()] = int32_t(token.raw());
  }
  /// int32 [context], as kernels and callers read tokens.
  const int32_t *history(SequenceId sequence) const {
    return tokens.data() + sequence.raw() * context.raw();
  }

  static ByteCount bytesFor(int64_t sequences, TokenCount context) {
    return ByteCount(sequences * (int64_t(sizeof(uint32_t) + sizeof(uint8_t) + sizeof(int64_t)) +
                                  context.raw() * int64_t(sizeof(int32_t))));
  }
  ByteCount bytes() const {
    return generations.bytes() + alive.bytes() + lengths.bytes() + tokens.bytes();
  }

private:
  TokenCount context;
  FixedArray<uint32_t> generations;
  FixedArray<uint8_t> alive;
  FixedArray<int64_t> lengths;
  FixedArray<int32_t> tokens; ///< [sequences][context]
};

} // namespace writ
