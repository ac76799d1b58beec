//===- Options.h - options that several commands share --------------------===//
//
// A value that its option does not take is a UsageError at the option (E051).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Tools/writ/Commands.h"

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace writ::tool {

/// Where the data lie.
CLI::Option *addDataOption(CLI::App *app, std::string &data);

/// What decides a package.
void addCompileOptions(CLI::App *app, CompileOptions &options);
/// The options of addCompileOptions that stand on the command line.
std::vector<std::string> givenCompileOptions(const CLI::App &app);

/// How a session is opened.
void addSessionOptions(CLI::App *app, SessionOptions &options);

/// What is measured, and how a session is opened for it.
void addBenchOptions(CLI::App *sub, BenchCommand &command);

/// The history of a comparison, and how each of its two runs is opened.
void addTraceOptions(CLI::App *sub, TraceCommand &command);

/// What is profiled, and how a session is opened for it.
void addProfileOptions(CLI::App *sub, ProfileCommand &command);

/// How long a text is generated, and how its tokens are drawn.
void addGenerationOptions(CLI::App *sub, RunCommand &command);

} // namespace writ::tool
