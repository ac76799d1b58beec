//===- Compile.cpp - `writ compile` ---------------------------------------===//
#include "compiler/Tools/writ/Compile.h"

#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/HostBuild.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/WritePackage.h"
#include "writ/package_format.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

/// One line on stderr for each stage; shares of a long one replace each other on a terminal.
class Stages {
public:
  void begin(const std::string &what) {
    end();
    std::fprintf(stderr, "writ: %s", what.c_str());
    std::fflush(stderr);
    running = true;
    start = std::chrono::steady_clock::now();
  }
  void end() {
    if (!running)
      return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, " (%.1f s)\n", took.count());
    running = false;
  }
  ~Stages() {
    if (running)
      std::fputc('\n', stderr);
  }

private:
  bool running = false;
  std::chrono::steady_clock::time_point start;
};

/// The folder that a package is written in before it takes its place; removed unless it does.
class Staging {
public:
  explicit Staging(const std::string &output) : output(fs::absolute(output).lexically_normal()) {
    if (!this->output.has_filename()) // a path that ends in '/'
      this->output = this->output.parent_path();
    std::error_code error;
    if (fs::exists(this->output, error) && !isReplaceable())
      throw Error({output}, "E052",
                  "a folder or file stands here that is not a package; it is left alone",
                  {{{}, "name another folder with -o, or remove it"}});
    fs::create_directories(this->output.parent_path(), error);
    folder = this->output.string() + fmt::format(".writing-{}", getpid());
    fs::remove_all(folder, error);
    if (!fs::create_directory(folder, error))
      throw EnvironmentError({output}, "E002", "cannot be made: " + error.message());
  }
  ~Staging() {
    std::error_code error;
    if (!folder.empty())
      fs::remove_all(folder, error);
  }
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;

  const std::string &path() const { return folder; }

  /// Puts the folder at its place, in one step where something stood there before.
  void commit() {
    if (renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, output.c_str(), RENAME_NOREPLACE) == 0)
      folder.clear();
    else if (errno != EEXIST ||
             renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, output.c_str(), RENAME_EXCHANGE) != 0)
      throw EnvironmentError({output.string()}, "E002",
                             fmt::format("cannot be put in place: {}", std::strerror(errno)));
  }

private:
  bool isReplaceable() const {
    std::error_code error;
    return fs::is_directory(output, error) &&
           (fs::is_empty(output, error) || fs::exists(output / kLockFile, error));
  }
  fs::path output;
  std::string folder; ///< empty once it was renamed
};

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.1f} MB", double(bytes) / 1e6);
}

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

} // namespace

void compilePackage(const CompileCommand &command) {
  const volatile int32_t *stop = interruptFlag();
  Stages stages;
  stages.begin(fmt::format("resolving and lowering {} under '{}'",
                           fs::path(command.model).filename().string(), command.options.profile));
  const CompiledModel model = compileModel(command.model, command.options);
  stages.end();
  if (!model.chatFault.empty())
    std::fprintf(stderr, "writ: warning: the package will not chat:\n%s", model.chatFault.c_str());
  if (!command.emitIr.empty())
    writeIr(model, command.emitIr);
  if (command.dryRun) {
    printPlan(model);
    return;
  }
  requireNotInterrupted(stop);
  Staging staging(command.output);
  stages.begin(fmt::format("packing {} of weights", megabytes(model.call.weightsBytes)));
  writePackage(model, staging.path(), [&](double) { requireNotInterrupted(stop); });
  if (!command.noBuild) {
    stages.begin("building the emitted code");
    try {
      buildPackage(staging.path(), command.output, command.options.cxx);
    } catch (const EnvironmentError &) {
      requireNotInterrupted(stop);
      staging.commit(); // the sources are kept; without lib/ the package does not open
      throw;
    }
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
