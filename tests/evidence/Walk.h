//===- Walk.h - the steps that a package is judged over -------------------===//
#pragma once

#include "tests/evidence/Judge.h"
#include "writ/writ.h"

namespace writ::test {

/// An open package; throws Fault where the runtime refuses.
class Package {
public:
  explicit Package(const std::string &path);
  ~Package();
  Package(const Package &) = delete;
  Package &operator=(const Package &) = delete;
  const writ_package *get() const { return package; }

private:
  writ_package *package = nullptr;
};

/// How a session runs.
struct Variant {
  int32_t isa, threads;
};

/// One step, for the report.
struct Stage {
  int64_t rows, sequences, lastPosition;
  Scope scope;
};

/// Runs sessions over the same steps: a prefill chunk, a decode row after it, a history that is
/// only stored, a chunk across the boundary of a KV chunk, and at its end a step that decodes two
/// sequences at once, one long and one short. Then what runs on the logits: log-probability and
/// sampling.
class Walk {
public:
  Walk(const writ_package *package, const Facts &facts, Judge &judge, int64_t history);
  /// The first call judges, later ones compare with it.
  void run(const Variant &variant);

  const std::vector<Stage> &stages() const { return done; }
  const std::vector<Variant> &variants() const { return ran; }

private:
  struct Row {
    int sequence; ///< 0 or 1
    bool output;
  };
  void step(Scope scope, const std::vector<Row> &rows);
  void judgeLogits(const std::vector<Row> &rows);
  void judgeLogProbability(int64_t outputs);
  void judgeSampling(int64_t output, int sequence);
  int32_t token();
  void expect(writ_status status, const writ_error &error) const;

  const writ_package *package;
  const Facts &facts;
  Judge &judge;
  int64_t history;
  writ_session *session = nullptr;
  writ_sequence sequences[2] = {};
  std::vector<int32_t> tokens[2]; ///< fed so far
  uint64_t random = 0;
  std::vector<Stage> done;
  std::vector<Variant> ran;
};

} // namespace writ::test
