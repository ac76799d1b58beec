//===- Compile.cpp - `writ compile` ---------------------------------------===//
#include "compiler/Tools/writ/Compile.h"

#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/HostBuild.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/ProgressLine.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/Staging.h"
#include "compiler/Tools/writ/WritePackage.h"
#include "writ/package_format.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <optional>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

/// One line on stderr for each stage; the shares of a long one replace each other on a terminal.
class Stages {
public:
  void begin(const std::string &text) {
    end();
    what = text;
    std::fprintf(stderr, "writ: %s", what.c_str());
    std::fflush(stderr);
    start = std::chrono::steady_clock::now();
    progress.emplace(what);
  }
  void show(double share) { progress->show(share); }
  void end() {
    if (!progress)
      return;
    redraw();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, " (%.1f s)\n", took.count());
  }
  ~Stages() {
    if (!progress)
      return;
    redraw();
    std::fputc('\n', stderr);
  }

private:
  void redraw() {
    if (progress->clear())
      std::fprintf(stderr, "writ: %s", what.c_str());
    progress.reset();
  }
  std::string what;
  std::optional<ProgressLine> progress;
  std::chrono::steady_clock::time_point start;
};

void printPlan(const CompiledModel &model) {
  const CallModel &call = model.call;
  printLine(fmt::format("weights            {:>12} bytes ({})\n"
                        "KV per token       {:>12} bytes\n"
                        "arena per row      {:>12} bytes\n"
                        "arena per output   {:>12} bytes\n"
                        "context length     {:>12} tokens ({} of KV)",
                        call.weightsBytes, megabytes(call.weightsBytes), call.kvBytesPerToken,
                        call.rowArenaBytes, call.outputArenaBytes, call.contextLength,
                        megabytes(call.kvBytesPerToken * call.contextLength)));
}

void requireNotInterrupted(const volatile int32_t *stop) {
  if (*stop)
    throw Interrupted();
}

/// Builds what is staged. Where the machine cannot, the sources are put where they can be read.
void build(const CompileCommand &command, Staging &staging, const volatile int32_t *stop) {
  const std::string place = staging.sourcesPlace();
  // Beside is ".failed" longer; a slash at the end of the output is not part of a place.
  const bool isBeside = place.size() > command.output.size();
  try {
    buildPackage(staging.path(), place, command.options.cxx);
  } catch (const EnvironmentError &error) {
    requireNotInterrupted(stop);
    staging.commitSources();
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.back().notes.push_back(
        {{},
         fmt::format("the sources are kept in {}{}", place,
                     isBeside ? "; the package that was there is as it was" : "")});
    throw EnvironmentError(diagnostics);
  }
}

/// A compiler that is missing is told before the long work; the sources are written all the same.
void warnWithoutCompiler(const std::string &cxx) {
  try {
    hostCompilerVersion(cxx);
  } catch (const EnvironmentError &error) {
    std::fprintf(stderr, "writ: warning: %s; the sources are written, and not built\n",
                 error.diagnostics().front().message.c_str());
  }
}

} // namespace

void compilePackage(const CompileCommand &command) {
  const volatile int32_t *stop = interruptFlag();
  if (!command.dryRun && !command.noBuild)
    warnWithoutCompiler(command.options.cxx);
  Stages stages;
  stages.begin(fmt::format("resolving and lowering {} under '{}'",
                           fs::path(command.model).filename().string(), command.options.profile));
  const CompiledModel model = compileModel(command.model, command.options);
  stages.end();
  if (model.chatFault)
    std::fprintf(stderr, "writ: warning: the package will not chat:\n%s",
                 toString(*model.chatFault).c_str());
  if (!command.emitIr.empty())
    writeIr(model, command.emitIr);
  if (command.dryRun) {
    printPlan(model);
    return;
  }
  requireNotInterrupted(stop);
  Staging staging(command.output);
  stages.begin(fmt::format("packing {} of weights", megabytes(model.call.weightsBytes)));
  try {
    writePackage(model, staging.path(), [&](double share) {
      requireNotInterrupted(stop);
      stages.show(share);
    });
  } catch (const Error &error) {
    throw staging.shown(error);
  }
  if (!command.noBuild) {
    stages.begin("building the emitted code");
    build(command, staging, stop);
  }
  requireNotInterrupted(stop);
  staging.commit();
  stages.end();
  std::fprintf(stderr, "writ: %s is ready (%s)\n", command.output.c_str(),
               model.call.production ? "production" : "bring-up: not for production");
}

int runCompile(const CompileCommand &command) {
  if (command.output.empty() && !command.dryRun)
    throw UsageError({"--output"}, "E051", "a package needs a folder; name one with -o");
  try {
    compilePackage(command);
  } catch (const Interrupted &) {
    std::fprintf(stderr, "\nwrit: interrupted; nothing was written to %s\n",
                 command.output.c_str());
    return exitInterrupted;
  }
  return exitOk;
}

} // namespace writ::tool
