//===- Evaluate.cpp - one captured call by the reference ------------------===//
#include "tests/conformance/Match.h"
#include "tests/evidence/Judge.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ::test {
namespace {

/// The file's weight, with one bit of its first row changed where a control asks for it. For a
/// lookup the row is the one that is looked up. Of a scalar it is the highest of the exponent: what
/// follows may round to 8 bits.
Bytes altered(std::span<const std::byte> bytes, const std::string &storage, int64_t rowBytes,
              int64_t row) {
  Bytes copy(bytes.begin(), bytes.end());
  const int64_t byte = storage == "f32" ? 3 : 1;
  copy.at(static_cast<size_t>(row * rowBytes + byte)) ^= std::byte{0x40};
  return copy;
}

reference::Rows stepRows(const writ_rows &rows) {
  return {{rows.token, rows.token + rows.count},
          {rows.position, rows.position + rows.count},
          {rows.sequence, rows.sequence + rows.count},
          {rows.output_row, rows.output_row + rows.outputs}};
}

/// K and V of the rows out of the reference's state, as captureKv lays them out.
void readState(const reference::KvState &state, const reference::Rows &rows, Capture &into) {
  const size_t bytes =
      static_cast<size_t>(state.kvHeads * *writ::rowBytes(state.storage, state.headDim));
  for (size_t i = 0; i < rows.position.size(); ++i) {
    const reference::KvState::Sequence &sequence = state.sequences.at(rows.sequence[i]);
    for (auto [name, plane] : {std::pair("k_plane", &sequence.k), {"v_plane", &sequence.v}}) {
      const auto at = plane->begin() + static_cast<int64_t>(bytes) * rows.position[i];
      into.outputs[name].insert(into.outputs[name].end(), at, at + static_cast<int64_t>(bytes));
    }
  }
}

} // namespace

reference::KvState &Judge::state(const Op &op) {
  reference::KvState &state = states[{op.kvGroup, op.kvLayer}];
  const InstanceKvGroup &group = facts.circuit().kvGroups.at(op.kvGroup);
  state.storage = group.storage;
  state.kvHeads = group.kvHeads;
  state.headDim = group.headDim;
  state.window = group.window;
  return state;
}

Capture Judge::evaluate(const Op &op, const writ_step &step, Capture &now) {
  reference::Call call = facts.referenceCall(op);
  call.rows = stepRows(*step.rows);
  const int64_t rows = rowsOf(op, step);
  call.dimensions["rows"] = rows;
  Capture expected;
  expected.inputs = now.inputs;
  for (const OperandShape &shape : op.shape->inputs) {
    const std::string operand(shape.name);
    const int64_t inputRows = op.shape->selectsRows ? step.rows->count : rows;
    call.operands[operand] = {op.contract->storage.at(operand),
                              {inputRows, op.width(shape)},
                              expected.inputs.at(operand)};
  }
  for (const OperandShape &shape : op.shape->outputs) {
    const std::string operand(shape.name);
    Bytes &bytes = expected.outputs[operand];
    bytes.assign(static_cast<size_t>(rows * op.rowBytes(shape)), kPoison);
    call.operands[operand] = {op.contract->storage.at(operand), {rows, op.width(shape)}, bytes};
  }
  std::map<std::string, Bytes> copies;
  for (const auto &[operand, weight] : op.weights) {
    std::span<std::byte> bytes = facts.bytes(weight);
    if (weight.tensor == alterations.weight) {
      const int64_t stride =
          static_cast<int64_t>(bytes.size()) / (weight.shape.size() > 1 ? weight.shape[0] : 1);
      const bool looksUp = op.shape->inputs.empty();
      copies[operand] = altered(bytes, weight.storage, stride, looksUp ? call.rows.token.at(0) : 0);
      bytes = copies[operand];
    }
    call.operands[operand] = {weight.storage, weight.shape, bytes};
  }
  if (op.kvGroup >= 0)
    call.kv = &state(op);
  const reference::Entry entry = reference::findReference(op.map->contractOracle);
  if (!entry)
    throw Fault(op.name + ": the reference has no '" + op.map->contractOracle + "'");
  entry(call);
  if (op.shape->writesKv)
    readState(*call.kv, call.rows, expected);
  else if (alterations.weight.empty())
    nameKeptContract(op, call, expected, now);
  return expected;
}

/// A fault where an output is not that of the op's contract: it says of which contract it is.
void Judge::nameKeptContract(const Op &op, const reference::Call &call, const Capture &expected,
                             const Capture &now) {
  for (const auto &[operand, bytes] : expected.outputs)
    if (compareOperand(op, operand, bytes, now.outputs).differences > 0)
      if (const std::string text = describeMismatch(call, facts.contractsOf(op.family), operand,
                                                    now.outputs.at(operand));
          !text.empty())
        fault(fmt::format("step {}, {} ({}): {}", stepNumber, op.name, op.map->id, text));
}

Comparison Judge::compareOperand(const Op &op, const std::string &operand, const Bytes &expected,
                                 const std::map<std::string, Bytes> &got) const {
  const auto other = got.find(operand);
  const Bytes nothing;
  const Bytes &bytes = other == got.end() ? nothing : other->second;
  if (operand.ends_with("_plane")) {
    const InstanceKvGroup &group = facts.circuit().kvGroups.at(op.kvGroup);
    return compare(group.storage, group.kvHeads * group.headDim, expected, bytes);
  }
  int64_t width = 1;
  if (op.shape)
    for (std::span<const OperandShape> shapes : {op.shape->inputs, op.shape->outputs})
      for (const OperandShape &shape : shapes)
        if (shape.name == operand)
          width = op.width(shape);
  return compare(op.contract->storage.at(operand), width, expected, bytes);
}

void Judge::compareAll(const Op &op, const std::string &what,
                       const std::map<std::string, Bytes> &expected,
                       const std::map<std::string, Bytes> &got) {
  for (const auto &[operand, bytes] : expected) {
    const Comparison result = compareOperand(op, operand, bytes, got);
    if (what == "output") { // what a kernel made, against the reference
      tally[&op].elements += result.elements;
      tally[&op].differences += result.differences;
    }
    if (result.differences > 0)
      fault(fmt::format("step {}, {} ({}): {} '{}' has {} differences, the first at row {}, {}"
                        "column {}: expected {:#x}, got {:#x}",
                        stepNumber, op.name, op.map->id, what, operand, result.differences,
                        result.row, result.part.empty() ? "" : result.part + ", ", result.column,
                        result.expected, result.got));
  }
}

/// The comparison sees one bit of a weight, one bit of an output, and an element that no kernel
/// wrote: tried once in each family, on a call that was judged.
void Judge::control(const Op &op, const writ_step &step, Capture &now, const Capture &expected) {
  if (!controlled.insert(op.family).second)
    return;
  const auto differs = [&](const std::map<std::string, Bytes> &a,
                           const std::map<std::string, Bytes> &b) {
    return std::any_of(a.begin(), a.end(), [&](const auto &operand) {
      return compareOperand(op, operand.first, operand.second, b).differences > 0;
    });
  };
  const auto note = [&](const char *what, bool seen) {
    seenControls[what].insert(op.family);
    if (!seen)
      fault(fmt::format("{}: {} goes unnoticed", op.name, what));
  };
  for (const auto &[operand, weight] : op.weights)
    if (weight.constant.empty() && alterations.weight.empty()) {
      alterations.weight = weight.tensor;
      note("a changed weight", differs(evaluate(op, step, now).outputs, now.outputs));
      alterations.weight.clear();
    }
  for (const auto &[operand, bytes] : expected.outputs) {
    std::map<std::string, Bytes> changed = expected.outputs;
    changed[operand].at(1) ^= std::byte{0x04};
    note("a changed output", differs(expected.outputs, changed));
    changed = expected.outputs;
    std::fill_n(changed[operand].begin(), 4, kPoison);
    note("an element that was not written", differs(expected.outputs, changed));
  }
}

} // namespace writ::test
