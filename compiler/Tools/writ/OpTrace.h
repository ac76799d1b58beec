//===- OpTrace.h - the bits of every op of every row ----------------------===//
//
// Runs a package over one token history and records each row that each op made. One row can be kept
// whole, for the values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/PackageCalls.h"
#include "compiler/Tools/writ/RowValues.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/TraceRecord.h"

#include <exception>

namespace writ::tool {

/// A row as an op left it, and how it came to be.
struct TracedRow {
  std::string phase, provider;
  int32_t isa = -1; ///< of the body that ran; -1: none did
  int64_t row = 0;  ///< in its step, or among the step's output rows
  int64_t rows = 0; ///< of the step
  std::vector<std::pair<std::string, std::vector<RowField>>> operands;
  std::vector<std::vector<std::byte>> values; ///< by operand, canonical
};

class OpTrace {
public:
  /// The package lives longer.
  OpTrace(const writ_package *package, const TraceSide &side, std::vector<int32_t> ids);

  /// Reads the whole history. Interrupted where `stop` became not 0.
  void run(const volatile int32_t *stop);
  /// What the run made.
  const TraceRecord &record() const { return made; }
  /// Reads it anew up to the row's step, and gives the row.
  TracedRow rowAt(const RowPlace &place, const volatile int32_t *stop);

private:
  static void see(void *user, const writ_step *step, uint32_t call, const writ_provider *provider,
                  const void *args);
  void take(const writ_step &step, uint32_t index, const writ_provider &provider,
            const uint64_t *slots);
  void takeRow(const writ_step &step, uint32_t index, const writ_provider &provider,
               const uint64_t *slots, int64_t row);
  void read(const volatile int32_t *stop, int64_t upTo);
  void fillAndRewind(writ_session *session, const std::vector<writ_sequence> &sequences);
  const writ_package *package;
  TraceSide side;
  PackageCalls facts;
  TraceRecord made;
  std::vector<size_t> opOf; ///< of a call
  bool records = true;
  const RowPlace *wanted = nullptr;
  TracedRow found;
  std::exception_ptr failure; ///< none may leave a callback
};

} // namespace writ::tool
