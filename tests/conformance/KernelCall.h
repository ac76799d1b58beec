//===- KernelCall.h - a problem as one kernel sees it ---------------------===//
//
// Weights packed, KV in pages, and the argument block built from the kernel map's `arguments`, slot
// by slot, without knowing the kernel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/conformance/Shapes.h"
#include "tests/kernels/instruction_sets.h"
#include "writ/kernel_abi.h"
#include "writ/model_abi.h"

namespace writ::test {

class KernelCall {
public:
  /// `problem` and `map` outlive the call. Outputs are the kernel's own.
  KernelCall(Problem &problem, const nlohmann::json &map, uint64_t seed);
  KernelCall(const KernelCall &) = delete;

  /// Units of the map's extent and grain.
  int64_t units() const { return unitCount; }
  /// The argument block.
  const void *arguments() const { return slots.data(); }
  /// Poisons every output and the KV pages' free places; for attention, also the positions that no
  /// row may see. A page that holds none but these is not mapped.
  void poison();
  /// Has the KV view ask for parts of keys, with this room for their states, which is poisoned.
  void divide(int64_t parts, int64_t bytes);
  /// Runs the units in these ranges, in order.
  void run(writ_body body, const std::vector<std::pair<int64_t, int64_t>> &ranges) const;
  /// Output elements that difference() compares.
  int64_t elements() const;
  /// What differs from the outputs of the reference, or "". Call problem.evaluate() first.
  /// Where the output is that of another registered contract, it says of which.
  std::string difference() const;
  /// What the kernel wrote.
  std::span<const std::byte> output(const std::string &name) const {
    return operands.at(name).bytes();
  }

  /// Both planes of the KV state, K's first: for tests that damage them.
  std::span<std::byte> kvPlanes() { return planes.bytes(); }

private:
  void makeOperands(const nlohmann::json &map);
  void makePages(uint64_t seed);
  void copyToPages();
  void makeSampleParameters();
  void makeSlots(const nlohmann::json &map);
  uint64_t slotOf(const nlohmann::json &argument);
  bool isSeen(int64_t sequence, int64_t position) const;
  std::byte *pageAddress(bool isK, int64_t sequence, int64_t position);
  std::string kvDifference() const;

  Problem &problem;
  std::map<std::string, Buffer> operands; ///< packed weights, copies of inputs, outputs
  std::vector<uint64_t> slots;
  int64_t unitCount = 0;

  writ_kv_view view{};
  Buffer planes, partials;
  std::vector<int32_t> blockTable;
  Buffer scratch;
  std::vector<writ_sample_parameters> parameters;
};

} // namespace writ::test
