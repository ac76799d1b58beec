//===- Judge.h - every call of a step against the reference ---------------===//
//
// The trace hook gives each call's argument block after the kernel has run. The judge reads what
// went in and what came out by the kernel map, evaluates ir/Reference on what went in, and compares
// each output element. The reference keeps its own KV state, and where the op that made an input
// was evaluated in the same step, the input must be what the reference made: a buffer that is
// bound wrongly, or overwritten too early, is seen.
//
// The outputs of the next call are poisoned after each one, so that an element that a kernel does
// not write differs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Compare.h"
#include "tests/evidence/Facts.h"

#include <set>

namespace writ::test {

/// Which calls of a step are evaluated.
enum class Scope {
  all,
  positions, ///< those that see positions: rope_table, rope, kv_store, attention
  state      ///< kv_store: enough to build a history
};
const char *nameOf(Scope scope);

/// What one call took and made, by operand; for kv_store "k_plane" and "v_plane".
struct Capture {
  std::map<std::string, Bytes> inputs, outputs;
};

struct Tally {
  int64_t calls = 0, elements = 0, differences = 0;
};

/// Faults that are made on purpose, by name of tensor or op; empty: none.
struct Alterations {
  std::string weight; ///< one bit of the first row that the reference sees
  std::string output; ///< one bit of what the kernel wrote
  std::string input;  ///< one bit of what the kernel read
};

class Judge {
public:
  Judge(const Facts &facts, const Alterations &alterations);

  /// A new session: other buffers. With `replay`, what the calls take and make is compared with
  /// what the first session's took and made, which the reference has judged.
  void beginSession(bool replay);
  void beginStep(Scope scope, std::vector<int32_t> tokens, std::vector<int32_t> positions);
  /// All calls of one phase must have come.
  void endStep();
  /// The trace hook; `user` is the judge. Throws nothing: what goes wrong is a fault.
  static void trace(void *user, const writ_step *step, uint32_t call, const writ_provider *provider,
                    const void *args);

  /// Judges an op that ran outside of a step.
  void judgeHost(const Op &op, const std::string &operand, const Bytes &expected, const Bytes &got);
  void fault(const std::string &text);

  /// What the reference made in this step; empty where the op was not evaluated.
  const Bytes *value(const std::string &op) const;
  const std::vector<std::string> &faults() const { return found; }
  const std::map<const Op *, Tally> &tallies() const { return tally; }
  /// What the negative controls altered, each seen or a fault, with the families.
  const std::map<std::string, std::set<std::string>> &controls() const { return seenControls; }
  int64_t inputsTraced() const { return wired; }

private:
  void take(const writ_step &step, uint32_t index, const writ_provider &provider,
            const uint64_t *slots);
  Capture capture(const Op &op, const writ_step &step, const uint64_t *slots);
  void captureKv(const Op &op, const writ_step &step, Capture &into) const;
  void checkArgument(const Op &op, const MapArgument &argument, uint64_t slot,
                     const writ_step &step) const;
  void checkWiring(const Op &op, const Capture &now);
  Capture evaluate(const Op &op, const writ_step &step, Capture &now);
  void nameKeptContract(const Op &op, const reference::Call &call, const Capture &expected,
                        const Capture &now);
  void compareAll(const Op &op, const std::string &what, const std::map<std::string, Bytes> &a,
                  const std::map<std::string, Bytes> &b);
  Comparison compareOperand(const Op &op, const std::string &operand, const Bytes &expected,
                            const std::map<std::string, Bytes> &got) const;
  void control(const Op &op, const writ_step &step, Capture &now, const Capture &expected);
  void poisonOutputs(const writ_step &step, uint32_t index);
  bool inScope(const Op &op) const;
  reference::KvState &state(const Op &op);
  static int64_t rowsOf(const Op &op, const writ_step &step);

  const Facts &facts;
  Alterations alterations;
  Scope scope = Scope::all;
  bool replaying = false;
  int64_t stepNumber = 0, seen = 0, wired = 0;
  std::vector<int32_t> stepTokens, stepPositions;
  std::map<uint32_t, std::map<std::string, std::byte *>> outputAddresses;
  std::map<std::pair<int64_t, int64_t>, reference::KvState> states; ///< by (group, layer)
  std::map<std::pair<int64_t, uint32_t>, Capture> judged;           ///< by (step, call)
  std::map<std::string, Bytes> values;
  std::map<const Op *, Tally> tally;
  std::set<std::string> controlled; ///< families
  std::map<std::string, std::set<std::string>> seenControls;
  std::vector<std::string> found;
};

} // namespace writ::test
