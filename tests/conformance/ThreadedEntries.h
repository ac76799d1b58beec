//===- ThreadedEntries.h - the threaded function of every provider --------===//
#pragma once

#include "writ/kernel_abi.h"

#include <string>

namespace writ::test {

using ThreadedEntry = void (*)(const writ_step *step, uint32_t call, const void *args);

/// The function of this name ("linear_f32_threaded"), or null.
ThreadedEntry findThreadedEntry(const std::string &name);

} // namespace writ::test
