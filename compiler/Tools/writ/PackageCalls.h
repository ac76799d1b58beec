//===- PackageCalls.h - what a package says of each of its calls ----------===//
//
// A kernel is given a block of 8-byte slots. The package's own files say what they are:
// ir/call.mlir gives each slot its meaning, report.json the storage types and sizes of the op.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Shared/Families.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace writ::tool {

/// A tensor that a call reads or writes, a row for each row of the step, or for each output row.
struct CallOperand {
  std::string name, storage;
  size_t slot;    ///< of the argument block; holds the address of the first row
  bool ofOutputs; ///< has the output rows of the step
  int64_t width;  ///< elements of a row
  int64_t bytes;  ///< of a row
};

/// A weight as the call reads it.
struct CallWeightUse {
  std::string tensor;  ///< in the model file, or of a constant
  std::string storage; ///< in the model file
  std::vector<int64_t> shape;
  int64_t fileBytes;
};

struct PackageCall {
  std::string op, family, phase, contract, provider;
  std::string section;
  int64_t layer = -1; ///< -1: in no layer
  const FamilyShape *shape = nullptr;
  std::map<std::string, int64_t> dimensions; ///< all but "rows"
  std::vector<CallOperand> inputs, outputs;
  std::vector<CallWeightUse> weights;
  int64_t kvGroup = -1, kvLayer = -1; ///< of the KV state that it reads or writes
  bool ofOutputs = false;             ///< its results have the output rows of the step
};

struct PackageKvGroup {
  std::string storage;
  int64_t width; ///< elements of K, and of V, of one position in one layer
  int64_t bytes; ///< of the same
  int64_t window;
};

struct PackageCalls {
  std::vector<PackageCall> calls; ///< by the index that a trace is given: prefill's, then decode's
  std::vector<PackageKvGroup> kvGroups;
};

/// Of the package in this folder. E050 where a file is not the one that the lock names.
PackageCalls readPackageCalls(const std::string &package);

} // namespace writ::tool
