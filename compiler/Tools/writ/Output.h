//===- Output.h - what goes to standard output ----------------------------===//
//
// A result that is lost is a failure: every write is checked, and a standard stream that is closed
// is held open, so that no file of ours takes its place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace writ::tool {

/// Puts something that refuses to be read or written where a standard stream is closed: a model
/// that is opened as descriptor 1 would otherwise receive the results.
void holdStandardStreams();

/// Writes to standard output, buffered. EnvironmentError (E002) where it cannot be written.
void print(std::string_view text);
/// The same, and a line break.
void printLine(std::string_view text);
/// "96.6 MB": a size as people read it.
std::string megabytes(int64_t bytes);
/// Brings what is buffered to its place. The same error.
void flushOutput();

} // namespace writ::tool
