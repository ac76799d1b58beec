//===- Facts.h - what circuit and model file say of each call -------------===//
//
// Stitched parity judges a package by what is known without it: the circuit instantiated for the
// model file gives operands, sizes, numbers and the names of tensors, the profile gives contracts,
// the kernel map gives the argument block. Of the package only the list of calls is taken, and it
// must name the ops of the circuit.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Import/Circuit.h"
#include "ir/Reference/Reference.h"
#include "ir/Shared/Families.h"
#include "writ/model_abi.h"

#include <memory>
#include <stdexcept>

namespace writ::test {

/// The package does not do what circuit, profile and model file say.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One call of the package's list.
struct Op {
  std::string name, family;
  std::vector<std::string> parts; ///< the ops of the circuit and conversions that it computes
  const Contract *contract = nullptr;
  const KernelMap *map = nullptr;
  const FamilyShape *shape = nullptr; ///< null for the families that run after a step
  nlohmann::json contractJson;
  std::map<std::string, std::string> inputs; ///< operand → the call that makes it
  std::map<std::string, InstanceWeight> weights;
  std::map<std::string, int64_t> dimensions; ///< all but "rows"
  std::map<std::string, std::string> attributes;
  std::map<std::string, double> numbers;
  int64_t kvGroup = -1, kvLayer = -1;
  bool ofOutputs = false; ///< has the output rows of the step, not all rows

  /// Elements and bytes of one row of an operand that is no weight.
  int64_t width(const OperandShape &operand) const;
  int64_t rowBytes(const OperandShape &operand) const;
};

class Facts {
public:
  /// `data` is the root of contracts/, kernel_maps/ and circuits/. Throws Fault where the calls of
  /// the package are not those of the circuit.
  Facts(const std::string &data, const std::string &modelFile, const writ_model_desc &package);

  const std::vector<Op> &calls() const { return ops; } ///< by call index: prefill's, then decode's
  const Op &hostOp(const std::string &family) const;
  /// Every registered contract of a family, by id.
  std::map<std::string, nlohmann::json> contractsOf(const std::string &family) const;
  const CircuitInstance &circuit() const { return instance; }
  const ModelFile &file() const { return *model; }
  /// The file's bytes of a weight, or those of a constant; never what was packed.
  std::span<std::byte> bytes(const InstanceWeight &weight) const;
  /// A call of the reference with everything but operands, rows and KV state.
  reference::Call referenceCall(const Op &op) const;
  /// The storage types of the weights, sorted.
  std::vector<std::string> storages() const;

private:
  Op makeOp(const writ_call_info &info, const std::string &phase);
  Op makeFused(const writ_call_info &info, const std::string &phase);
  Op fromCircuit(const InstanceOp &op);
  Op conversion(const std::string &name, const std::string &family);
  void require(const Op &op, const std::string &contract, const std::string &provider) const;

  std::unique_ptr<ModelFile> model;
  Catalog catalog;
  CircuitInstance instance;
  std::string profile;
  nlohmann::json vocabulary, functions;
  std::vector<Op> ops, hostOps;
  std::map<std::string, const InstanceOp *> byName;
  std::map<std::string, Op> made; ///< in the phase at hand, by name
};

} // namespace writ::test
