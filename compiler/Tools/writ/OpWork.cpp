#include "compiler/Tools/writ/OpWork.h"

#include <algorithm>

namespace writ::tool {
namespace {

int64_t productOf(const std::vector<int64_t> &shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

bool isMatrix(const CallWeightUse &weight) {
  return weight.shape.size() == 2;
}

/// A matrix that an input is multiplied with; without one, the rows' tokens choose rows of it.
bool multiplies(const PackageCall &call) {
  return !call.inputs.empty() && std::any_of(call.weights.begin(), call.weights.end(), isMatrix);
}

/// Positions that the queries of a step see, added up; and those that some query sees.
struct Seen {
  int64_t pairs = 0, positions = 0;
};
Seen seenBy(const writ_rows &rows, int64_t window) {
  Seen seen;
  for (int64_t row = 0; row < rows.count; ++row) {
    const int64_t length = int64_t(rows.position[row]) + 1;
    const int64_t visible = window ? std::min(length, window) : length;
    seen.pairs += visible;
    // Rows of one sequence stand in ascending order: the next one shares all but its newest.
    const bool first = row == 0 || rows.sequence[row] != rows.sequence[row - 1];
    seen.positions += first ? visible : 1;
  }
  return seen;
}

} // namespace

OpWork &OpWork::operator+=(const OpWork &other) {
  bytes += other.bytes;
  operations += other.operations;
  ofCodes = ofCodes || other.ofCodes;
  ofBfloats = ofBfloats || other.ofBfloats;
  return *this;
}

double OpWork::floor(const Ceilings &ceilings) const {
  const double peak = ofCodes     ? ceilings.int8Operations
                      : ofBfloats ? ceilings.bfloatOperations
                                  : ceilings.floatOperations;
  return std::max(bytes / ceilings.readBytes(), operations / peak);
}

OpWork workOf(const PackageCall &call, const std::vector<PackageKvGroup> &groups,
              const writ_rows &rows) {
  OpWork work;
  const auto rowsOf = [&](bool outputs) { return double(outputs ? rows.outputs : rows.count); };
  for (const std::vector<CallOperand> &operands : {call.inputs, call.outputs})
    for (const CallOperand &operand : operands) {
      const bool selected = call.shape->selectsRows; // reads no row that it does not write
      work.bytes += rowsOf(operand.ofOutputs || selected) * double(operand.bytes);
      work.ofCodes = work.ofCodes || operand.storage.starts_with("i8");
    }
  const bool isProduct = multiplies(call);
  for (const CallWeightUse &weight : call.weights) {
    if (isProduct && isMatrix(weight))
      work.operations += 2 * rowsOf(call.ofOutputs) * double(productOf(weight.shape));
    const bool looksUp = isMatrix(weight) && !isProduct;
    work.bytes +=
        looksUp ? rowsOf(call.ofOutputs) * double(weight.fileBytes) / double(weight.shape.front())
                : double(weight.fileBytes);
  }
  if (call.shape->readsKv && call.kvGroup >= 0) {
    const PackageKvGroup &group = groups[size_t(call.kvGroup)];
    if (call.shape->writesKv) {
      work.bytes += 2 * double(rows.count) * double(group.bytes);
    } else {
      const Seen seen = seenBy(rows, group.window);
      work.bytes += 2 * double(seen.positions) * double(group.bytes);
      // Each query head multiplies with K and with V of each position that it sees.
      for (const CallOperand &operand : call.outputs)
        work.operations += 4 * double(seen.pairs) * double(operand.width);
    }
  }
  return work;
}

} // namespace writ::tool
