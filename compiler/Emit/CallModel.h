//===- CallModel.h - a CallIR module as plain data ------------------------===//
//
// What the emitter, the packer and the lock read. No MLIR type occurs here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace writ {

/// A weight's place in the packed weights. Offsets count from the first byte of the data.
struct PackedWeight {
  std::string name;           ///< symbol; the name of the packed tensor
  std::string tensor;         ///< in the model file, or of the constant
  std::string storage;        ///< in the model file
  std::string layout;         ///< in the package
  std::vector<int64_t> shape; ///< [n, k] or [n]
  int64_t offset = 0, bytes = 0;
  std::vector<double> values; ///< of a constant; empty for a tensor of the file
};

struct CallKvGroup {
  std::string storage;
  int64_t layers = 0, kvHeads = 0, headDim = 0, rowBytes = 0, window = 0;
};

/// The value of one argument slot.
struct CallBuffer {
  std::string arena; ///< "rows", "outputs"
  int64_t offset = 0;
  bool operator==(const CallBuffer &) const = default;
};
struct CallWeight {
  std::string name;
  int64_t offset = 0;
  bool operator==(const CallWeight &) const = default;
};
struct CallRows {
  std::string field; ///< of writ_rows
  bool operator==(const CallRows &) const = default;
};
struct CallKv {
  int64_t group = 0;
  bool operator==(const CallKv &) const = default;
};
struct CallKvLayer {
  int64_t index = 0;
  bool operator==(const CallKvLayer &) const = default;
};
struct CallNull {
  bool operator==(const CallNull &) const = default;
};
using CallValue =
    std::variant<CallNull, CallBuffer, CallWeight, CallRows, CallKv, CallKvLayer, int64_t, float>;

struct CallArgument {
  std::string name, type;
  CallValue value;
  std::string bind; ///< what the kernel map binds it to: "operand:weight", "dim:k"
};

struct Call {
  std::string symbol; ///< the threaded function
  std::string op;     ///< the circuit's name
  std::string family, contract, provider;
  std::string section;
  int64_t layer = -1;
  std::vector<CallArgument> arguments;
};

struct HostOp {
  std::string op, family, contract, provider;
};

struct CallModel {
  std::string name, circuit, profile, target, resolutionSha256;
  std::string callSha256; ///< of the module's text
  bool production = true;
  std::map<std::string, std::string> inputs; ///< what → digest
  int64_t vocabulary = 0, contextLength = 0;
  int64_t rowArenaBytes = 0;    ///< for each row of a step
  int64_t outputArenaBytes = 0; ///< for each output row
  int64_t logitsOffset = 0;
  int64_t weightsBytes = 0;
  int64_t kvBytesPerToken = 0;
  bool phasesAlike = false; ///< every op has one decision in both phases
  std::vector<CallKvGroup> kvGroups;
  std::vector<PackedWeight> weights; ///< in the order of their offsets
  std::vector<Call> prefill, decode;
  std::vector<HostOp> hostOps;
};

} // namespace writ
