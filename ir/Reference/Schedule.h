//===- Schedule.h - what a word leaves to its surroundings ----------------===//
//
// A contract of portable words has one result. A word such as `implementation_defined` lets
// something else decide, and then the reference has as many results as that something has values:
// it takes one by the call's schedule, the same for the same schedule.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Reference.h"

namespace writ::reference {

/// The word that says nothing, so that anything may decide.
inline constexpr std::string_view kLeftOpen = "implementation_defined";

/// A number that everything outside of operands and contract decides: the run, the workers, the
/// rows of the step (and so how sequences share it and are cut into steps), the instruction set,
/// the device and the compiler. `what` tells the choices of one call apart.
uint64_t leftOpenToAll(const Call &call, std::string_view what);

/// The next of a row of numbers (SplitMix64).
uint64_t nextNumber(uint64_t &state);

/// Which subnormals are taken for zero: those that are read, those that are written.
struct Flush {
  bool read = false, write = false;
  static float applied(float value);
};
/// By the contract's `exceptional.subnormal`. Where they are flushed, instruction set, device and
/// compiler decide when.
Flush flushOf(const Call &call);

} // namespace writ::reference
