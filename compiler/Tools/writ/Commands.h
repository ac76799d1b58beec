//===- Commands.h - the subcommands of `writ` -----------------------------===//
//
// Text and results go to stdout, everything else to stderr. Each command returns its exit code;
// what it refuses it throws as writ::Error (exit code 1).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace writ::tool {

/// Exit codes, documented in docs/cli.md. The border between 1 and 2: what is wrong whatever the
/// files hold is usage; what does not fit the files is refused.
enum ExitCode : int {
  exitOk = 0,
  exitRefused = 1,     ///< a diagnostic was printed
  exitDiffers = 1,     ///< of `diff` alone, which printed what differs
  exitUsage = 2,       ///< the command line alone is wrong
  exitEnvironment = 3, ///< the machine lacks something: a host compiler, disk space, permission
  exitInterrupted = 130
};

/// What decides a package; part of every command that may compile.
struct CompileOptions {
  std::string profile = "portable";
  std::string target = "cpu";
  std::string data;     ///< root of contracts/, kernel_maps/, circuits/; empty: the installed ones
  std::string cxx;      ///< host compiler; empty: c++
  std::string kv;       ///< storage of K and V; empty: the circuit's
  int32_t leastIsa = 0; ///< a writ_isa, without which the package refuses to run
  bool bringup = false;
  std::vector<std::string> require; ///< dimensions that every contract has to be invariant under
  std::vector<std::string> given;   ///< names of those that stand on the command line
};

struct CompileCommand {
  std::string model, output, emitIr;
  CompileOptions options;
  bool noBuild = false, dryRun = false;
};
int runCompile(const CompileCommand &command);

inline constexpr int64_t kWholePrompt = -1;
inline constexpr int64_t kDefaultChunk = 512;

/// How a session is opened.
struct SessionOptions {
  int threads = 0;     ///< 0: one for each processor
  int64_t chunk = 0;   ///< rows of one step, or kWholePrompt; 0: kDefaultChunk
  int64_t context = 0; ///< 0: what is needed
  int32_t isa = -1;    ///< a writ_isa; -1: the best
  bool pin = false;    ///< each thread to a processor of its own
  bool verify = false; ///< hash the weights again
};

struct RunCommand {
  std::string target; ///< a package or a model file
  CompileOptions compile;
  SessionOptions session;
  std::optional<std::string> prompt, promptFile, chat, system;
  std::vector<std::string> stop;
  int64_t maxTokens = 256;
  float temperature = 0, topP = 1, minP = 0, repeatPenalty = 1;
  int64_t topK = 0;
  uint64_t seed = 0;
  bool stats = false, ignoreEnd = false;
};
int runRun(const RunCommand &command);

struct ScoreCommand {
  std::string target;
  CompileOptions compile;
  SessionOptions session;
  std::optional<std::string> textFile, idsFile;
  std::string logits;
  bool json = false, noSpecial = false;
};
int runScore(const ScoreCommand &command);

struct BenchCommand {
  std::string target;
  CompileOptions compile;
  SessionOptions session; ///< but for threads and context, which the tests decide
  /// Every number of one list is measured with every one of the others.
  std::vector<int64_t> prompts{512}, generated{128}, depths{0};
  std::vector<int> threads{0};
  int64_t repetitions = 5;
  bool json = false;
};
int runBench(const BenchCommand &command);

/// One of the two runs that `trace` compares.
struct TraceSide {
  std::string target;
  SessionOptions session; ///< but for the context, which is the history's
  int64_t batch = 1;      ///< sequences with the same history, in shared steps
  int64_t pageSize = 0;   ///< 0: the runtime's
  uint64_t pageOrder = 0; ///< not 0: the seed of a shuffled order of pages
  int64_t rewind = 0;     ///< other tokens that each sequence holds first, and is rewound from
};

struct TraceCommand {
  TraceSide a, b; ///< b's target may be empty: a's
  CompileOptions compile;
  std::optional<std::string> textFile, idsFile;
  std::optional<std::string> save;    ///< where A's trace is written, and nothing compared
  std::optional<std::string> against; ///< a saved trace, which takes the place of A
  int64_t tokens = 640;               ///< of a made-up history, where no file is named
  bool json = false;
};
int runTrace(const TraceCommand &command);

struct ProfileCommand {
  std::string target;
  CompileOptions compile;
  SessionOptions session;
  int64_t prompt = 512, generated = 32, depth = 0, repetitions = 3;
  int64_t calls = 10; ///< slowest calls of a phase that are printed
  bool json = false;
};
int runProfile(const ProfileCommand &command);

struct TokenizeCommand {
  std::string target;
  std::optional<std::string> text, textFile, ids;
  bool json = false, noSpecial = false;
};
int runTokenize(const TokenizeCommand &command);

struct InspectCommand {
  std::string model;
  bool json = false;
};
int runInspect(const InspectCommand &command);

struct ExplainCommand {
  std::string package, op;
};
int runExplain(const ExplainCommand &command);

struct ContractsCommand {
  std::string id; ///< empty: all
  std::string data;
  bool json = false;
};
int runContracts(const ContractsCommand &command);

struct DiffCommand {
  std::string a, b; ///< packages
  bool json = false;
};
int runDiff(const DiffCommand &command);

struct VerifyCommand {
  std::string package;
  std::string
      data; ///< root of the contracts and records that `evidence` asks; empty: the installed
  bool evidence = false;
  bool measure = false; ///< measure the evidence of the package's providers again
  std::string programs; ///< folder of the programs that measure; empty: that of this one
};
int runVerify(const VerifyCommand &command);

struct DigestsCommand {
  std::string model; ///< empty: what the catalog alone needs
  CompileOptions compile;
  bool needs = false, json = false;
};
int runDigests(const DigestsCommand &command);

struct CacheCommand {
  bool prune = false, json = false;
};
int runCache(const CacheCommand &command);

} // namespace writ::tool
