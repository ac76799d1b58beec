//===- Main.cpp - the command line of `writ` ------------------------------===//
#include "compiler/Tools/writ/Commands.h"

#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Tools/writ/Compile.h"
#include "compiler/Tools/writ/Compiler.h"
#include "compiler/Tools/writ/FaultGuard.h"
#include "compiler/Tools/writ/Options.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/Session.h"
#include "writ/writ.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <new>
#include <sstream>

using namespace writ::tool;

namespace {

void addCompile(CLI::App &app, CompileCommand &command) {
  CLI::App *sub = app.add_subcommand("compile", "compile a model under a numerical contract");
  sub->add_option("model", command.model, "GGUF or safetensors file")->required();
  sub->add_option("-o,--output", command.output, "folder of the package");
  addCompileOptions(sub, command.options);
  sub->add_option("--emit-ir", command.emitIr, "write the three IR stages into this folder");
  sub->add_flag("--no-build", command.noBuild, "stop after emission");
  sub->add_flag("--dry-run", command.dryRun, "print the sizes and write no package");
  sub->footer("example:\n  writ compile SmolLM2-135M-Instruct.Q4_1.gguf --profile portable -o "
              "build/smollm2");
}

void addRun(CLI::App &app, RunCommand &command) {
  CLI::App *sub = app.add_subcommand("run", "generate text with a package or a model file");
  sub->add_option("target", command.target, "package folder or model file")->required();
  auto *source =
      sub->add_option_group("prompt", "where the prompt comes from (default: standard input)");
  source->add_option("--prompt", command.prompt, "text to continue");
  source->add_option("--prompt-file", command.promptFile, "file with the text to continue");
  source->add_option("--chat", command.chat,
                     "message of a user; the model's chat template is used");
  source->require_option(0, 1);
  sub->add_option("--system", command.system, "system message of --chat");
  addGenerationOptions(sub, command);
  sub->add_flag("--ignore-end", command.ignoreEnd, "go on after an end token");
  sub->add_flag("--stats", command.stats, "print speed and memory to standard error");
  addSessionOptions(sub, command.session);
  addCompileOptions(sub, command.compile);
  sub->footer("examples:\n  writ run build/smollm2 --chat \"What is gravity?\" --max-tokens 64\n"
              "  echo \"Once upon a time\" | writ run model.gguf --temperature 0.8 --seed 7");
}

void addScore(CLI::App &app, ScoreCommand &command) {
  CLI::App *sub = app.add_subcommand("score", "log-probability of each token of a text");
  sub->add_option("target", command.target, "package folder or model file")->required();
  auto *source = sub->add_option_group("input", "what is scored");
  source->add_option("--text", command.textFile, "file with text");
  source->add_option("--ids", command.idsFile, "file with token ids: a JSON list, or numbers");
  source->require_option(1);
  sub->add_option("--logits", command.logits, "write all logits to this safetensors file");
  sub->add_flag("--json", command.json, "print one JSON object");
  sub->add_flag("--no-special", command.noSpecial, "special tokens in the text stay text");
  addSessionOptions(sub, command.session);
  addCompileOptions(sub, command.compile);
  sub->footer("example:\n  writ score build/smollm2 --text essay.txt --json");
}

void addBench(CLI::App &app, BenchCommand &command) {
  CLI::App *sub = app.add_subcommand("bench", "measure prefill and decode");
  sub->add_option("target", command.target, "package folder or model file")->required();
  addBenchOptions(sub, command);
  sub->add_flag("--json", command.json, "print a list of rows with the keys of llama-bench");
  addCompileOptions(sub, command.compile);
  sub->footer("example:\n  writ bench build/smollm2 -p 512 -n 64 -d 0,2048 -t 1,2 -r 5 --json");
}

void addProfile(CLI::App &app, ProfileCommand &command) {
  CLI::App *sub = app.add_subcommand("profile", "time, bytes and operations of each op");
  sub->add_option("target", command.target, "package folder or model file")->required();
  addProfileOptions(sub, command);
  sub->add_flag("--json", command.json, "print one JSON object, with every call");
  addCompileOptions(sub, command.compile);
  sub->footer("example:\n  writ profile build/smollm2 -p 512 -n 64 -d 2048 -t 2");
}

void addTrace(CLI::App &app, TraceCommand &command) {
  CLI::App *sub = app.add_subcommand("trace", "name the first op whose bits differ in two runs");
  sub->add_option("a", command.a.target, "package folder or model file")->required();
  sub->add_option("b", command.b.target, "another (default: the same)");
  auto *source = sub->add_option_group("history", "what both read (default: made-up tokens)");
  source->add_option("--text", command.textFile, "file with text");
  source->add_option("--ids", command.idsFile, "file with token ids: a JSON list, or numbers");
  source->require_option(0, 1);
  addTraceOptions(sub, command);
  sub->add_flag("--json", command.json, "print one JSON object");
  addCompileOptions(sub, command.compile);
  sub->footer("examples:\n  writ trace build/smollm2 --threads 1,3 --chunk 1,whole\n"
              "  writ trace build/smollm2 build/smollm2-f32 --ids ids.json\n\n"
              "exit codes: 0 the bits are the same, 1 they differ, or something was refused");
}

void addDigests(CLI::App &app, DigestsCommand &command) {
  CLI::App *sub = app.add_subcommand("digests", "show what evidence records are bound to");
  sub->add_option("model", command.model,
                  "model file: show the records that its production needs, and their state");
  sub->add_option("--profile", command.compile.profile, "numerical profile of the model")
      ->capture_default_str();
  sub->add_option("--kv", command.compile.kv,
                  "storage of the model's K and V (default: the circuit's)")
      ->type_name("STORAGE");
  addDataOption(sub, command.compile.data);
  sub->add_flag("--needs", command.needs, "show the records of all contracts and providers");
  sub->add_flag("--json", command.json, "print one JSON object with digests and needs");
  sub->footer(
      "examples:\n  writ digests --needs\n  writ digests model.gguf --profile portable --json");
}

void addContracts(CLI::App &app, ContractsCommand &command) {
  CLI::App *sub = app.add_subcommand(
      "contracts", "show what cannot change the bits of each contract: threads, batch, ...");
  sub->add_option("id", command.id, "contract to show field by field (default: all, as a table)");
  addDataOption(sub, command.data);
  sub->add_flag("--json", command.json, "print one JSON object");
  sub->footer("examples:\n  writ contracts\n  writ compile model.gguf -o build/model --require "
              "threads,batch,chunking");
}

void addSmallCommands(CLI::App &app, TokenizeCommand &tokenize, InspectCommand &inspect,
                      ExplainCommand &explain, DiffCommand &diff, VerifyCommand &verify,
                      CacheCommand &cache) {
  CLI::App *sub = app.add_subcommand("tokenize", "text to token ids and back");
  sub->add_option("target", tokenize.target, "package folder or model file")->required();
  auto *source = sub->add_option_group("input", "what is tokenized");
  source->add_option("--text", tokenize.text, "text");
  source->add_option("--file", tokenize.textFile, "file with text");
  source->add_option("--ids", tokenize.ids, "ids to turn into text: \"1 2 3\" or \"[1, 2, 3]\"");
  source->require_option(1);
  sub->add_flag("--json", tokenize.json, "print {\"ids\", \"pieces\"}");
  sub->add_flag("--no-special", tokenize.noSpecial, "special tokens in the text stay text");
  sub->footer("example:\n  writ tokenize model.gguf --text \"Hello world\" --json");

  sub = app.add_subcommand("inspect", "show metadata, tensors and storage types of a model file");
  sub->add_option("model", inspect.model, "GGUF or safetensors file")->required();
  sub->add_flag("--json", inspect.json, "print one JSON object");
  sub->footer("example:\n  writ inspect model.gguf --json");

  sub = app.add_subcommand("explain", "show which providers were considered for each op, and why");
  sub->add_option("package", explain.package, "package folder")->required();
  sub->add_option("op", explain.op, "name of an op, \"blk.0.attn_q\" (default: all, in short)");
  sub->footer("example:\n  writ explain build/smollm2 blk.0.attn_q");

  sub = app.add_subcommand("diff", "show what changed between two packages");
  sub->add_option("a", diff.a, "package folder")->required();
  sub->add_option("b", diff.b, "package folder")->required();
  sub->add_flag("--json", diff.json, "print one JSON object");
  sub->footer("example:\n  writ diff build/smollm2 build/smollm2-f32\n\n"
              "exit codes: 0 the locks are the same, 1 they differ, or a package was refused");

  sub = app.add_subcommand("verify", "look whether a package is what its lock says");
  sub->add_option("package", verify.package, "package folder")->required();
  sub->add_flag("--evidence", verify.evidence,
                "look also whether the records that its production rests on are current");
  sub->add_flag("--measure", verify.measure,
                "measure the evidence of its kernels again, on this machine (minutes)")
      ->needs("--evidence");
  sub->add_option("--programs", verify.programs,
                  "folder of kernels_test and threaded_test, which measure")
      ->needs("--measure");
  addDataOption(sub, verify.data);
  sub->footer("example:\n  writ verify build/smollm2 --evidence");

  sub = app.add_subcommand("cache", "show the packages that `writ run MODEL` keeps, or prune them");
  sub->add_flag("--prune", cache.prune, "remove all cached packages");
  sub->add_flag("--json", cache.json, "print one JSON object");
  sub->footer("example:\n  writ cache --prune");
}

UsageError usageOf(const CLI::App &app, std::string what) {
  const std::vector<CLI::App *> chosen = app.get_subcommands();
  what[0] = char(std::tolower(static_cast<unsigned char>(what[0])));
  return UsageError({}, "E054", what,
                    {{{},
                      fmt::format("`writ {}--help` shows what can stand here",
                                  chosen.empty() ? "" : chosen.front()->get_name() + " ")}});
}

int dispatch(int argc, char **argv) {
  CLI::App app("Writ: one model, one contract, the same bits.", "writ");
  app.set_version_flag("--version", std::string("writ ") + writ_version());
  app.require_subcommand(1);
  app.footer(
      "example:\n  writ run model.gguf --chat \"What is gravity?\"\n\n"
      "exit codes: 0 done, 1 refused (a diagnostic says why), 2 the command line alone is wrong,\n"
      "3 the machine lacks something (host compiler, permission, space), 130 interrupted");
  CompileCommand compile;
  RunCommand run;
  ScoreCommand score;
  BenchCommand bench;
  ProfileCommand profile;
  TraceCommand trace;
  TokenizeCommand tokenize;
  InspectCommand inspect;
  ExplainCommand explain;
  DiffCommand diff;
  VerifyCommand verify;
  DigestsCommand digests;
  ContractsCommand contracts;
  CacheCommand cache;
  addCompile(app, compile);
  addRun(app, run);
  addScore(app, score);
  addContracts(app, contracts);
  addBench(app, bench);
  addProfile(app, profile);
  addTrace(app, trace);
  addDigests(app, digests);
  addSmallCommands(app, tokenize, inspect, explain, diff, verify, cache);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    std::ostringstream out, err; // std::cout would lose what it cannot write
    if (app.exit(error, out, err) != 0)
      throw usageOf(app, error.what());
    print(out.str());
    return exitOk;
  }
  const CLI::App &chosen = *app.get_subcommands().front();
  const std::string name = chosen.get_name();
  const std::map<std::string, std::string> targets = {
      {"run", run.target}, {"score", score.target}, {"bench", bench.target}};
  const auto target = targets.find(name);
  if (name == "compile" || name == "verify" || name == "profile" || name == "trace" ||
      (name == "digests" && !digests.model.empty()) ||
      (target != targets.end() && !isPackage(target->second)))
    needCompiler(argv);
  run.compile.given = score.compile.given = bench.compile.given = profile.compile.given =
      trace.compile.given = givenCompileOptions(chosen);
  if (name == "compile")
    return runCompile(compile);
  if (name == "run")
    return runRun(run);
  if (name == "score")
    return runScore(score);
  if (name == "bench")
    return runBench(bench);
  if (name == "profile")
    return runProfile(profile);
  if (name == "trace")
    return runTrace(trace);
  if (name == "tokenize")
    return runTokenize(tokenize);
  if (name == "inspect")
    return runInspect(inspect);
  if (name == "explain")
    return runExplain(explain);
  if (name == "contracts")
    return runContracts(contracts);
  if (name == "diff")
    return runDiff(diff);
  if (name == "verify")
    return runVerify(verify);
  if (name == "digests")
    return runDigests(digests);
  return runCache(cache);
}

} // namespace

int main(int argc, char **argv) {
  guardMappedFiles();
  std::signal(SIGXFSZ, SIG_IGN); // a file-size limit is an error of write(), with a reason
  holdStandardStreams();
  try {
    const int code = dispatch(argc, argv);
    flushOutput();
    return code;
  } catch (const Interrupted &) {
    std::fprintf(stderr, "\nwrit: interrupted\n");
    return exitInterrupted;
  } catch (const UsageError &error) {
    std::fprintf(stderr, "%s", error.what());
    return exitUsage;
  } catch (const EnvironmentError &error) {
    std::fprintf(stderr, "%s", error.what());
    return exitEnvironment;
  } catch (const writ::Error &error) {
    std::fprintf(stderr, "%s", error.what());
    const std::string &code = error.diagnostics().front().code;
    return code == "E001" || code == "E002" ? exitEnvironment : exitRefused;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "writ: error: out of memory\n");
    return exitEnvironment;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "writ: error: %s\n", error.what());
    return exitEnvironment;
  }
}
