//===- Judge.cpp - every call of a step against the reference -------------===//
#include "tests/evidence/Judge.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace writ::test {
namespace {

constexpr size_t kFaultsKept = 20;
constexpr std::byte kFlippedBit{0x40};

void alter(Bytes &bytes) {
  bytes.at(1) ^= kFlippedBit; // of a float or a block's scale: a change that no rounding hides
}

std::string operandOf(const MapArgument &argument) {
  constexpr std::string_view prefix = "operand:";
  return argument.bind.starts_with(prefix) ? argument.bind.substr(prefix.size()) : "";
}

} // namespace

const char *nameOf(Scope scope) {
  return scope == Scope::all ? "all" : scope == Scope::positions ? "positions" : "state";
}

Judge::Judge(const Facts &facts, const Alterations &alterations)
    : facts(facts), alterations(alterations) {}

void Judge::fault(const std::string &text) {
  if (found.size() < kFaultsKept)
    found.push_back(text);
  else if (found.size() == kFaultsKept)
    found.push_back("and more");
}

void Judge::beginSession(bool replay) {
  replaying = replay;
  stepNumber = 0;
  outputAddresses.clear();
  values.clear();
}

void Judge::beginStep(Scope newScope, std::vector<int32_t> tokens, std::vector<int32_t> positions) {
  scope = newScope;
  stepTokens = std::move(tokens);
  stepPositions = std::move(positions);
  values.clear();
  seen = 0;
  ++stepNumber;
}

void Judge::endStep() {
  const int64_t phase = static_cast<int64_t>(facts.calls().size()) / 2;
  if (seen == 0 || seen % phase != 0)
    fault(fmt::format("step {}: {} calls were traced, {} are a phase", stepNumber, seen, phase));
}

void Judge::trace(void *user, const writ_step *step, uint32_t call, const writ_provider *provider,
                  const void *args) {
  Judge &judge = *static_cast<Judge *>(user);
  if (call >= judge.facts.calls().size())
    return; // what runs on the logits is judged by its result
  try {
    judge.take(*step, call, *provider, static_cast<const uint64_t *>(args));
  } catch (const std::exception &error) {
    judge.fault(fmt::format("step {}, call {}: {}", judge.stepNumber, call, error.what()));
  }
}

void Judge::take(const writ_step &step, uint32_t index, const writ_provider &provider,
                 const uint64_t *slots) {
  ++seen;
  const Op &op = facts.calls().at(index);
  if (provider.id != op.map->id)
    throw Fault(
        fmt::format("{} ran '{}', the package says '{}'", op.name, provider.id, op.map->id));
  // Rows in the order of the caller, where the step is one run.
  if (size_t(step.rows->count) == stepTokens.size() &&
      !(std::equal(stepTokens.begin(), stepTokens.end(), step.rows->token) &&
        std::equal(stepPositions.begin(), stepPositions.end(), step.rows->position)))
    throw Fault("the step has other tokens or positions than were fed");
  for (size_t i = 0; i < op.map->arguments.size(); ++i)
    checkArgument(op, op.map->arguments[i], slots[i], step);
  Capture now = capture(op, step, slots);
  if (inScope(op)) {
    if (op.name == alterations.output)
      for (auto &[operand, bytes] : now.outputs)
        alter(bytes);
    if (op.name == alterations.input)
      for (auto &[operand, bytes] : now.inputs)
        alter(bytes);
    if (replaying) {
      const Capture &before = judged.at({stepNumber, index});
      compareAll(op, "input of another session", before.inputs, now.inputs);
      compareAll(op, "output of another session", before.outputs, now.outputs);
    } else {
      checkWiring(op, now);
      Capture expected = evaluate(op, step, now);
      compareAll(op, "output", expected.outputs, now.outputs);
      ++tally[&op].calls;
      control(op, step, now, expected);
      if (auto out = expected.outputs.find("out"); out != expected.outputs.end())
        values[op.name] = out->second;
      judged[{stepNumber, index}] = std::move(expected);
    }
  }
  if (index + 1 < facts.calls().size())
    poisonOutputs(step, index + 1);
}

/// Sizes, numbers and places that the circuit fixes.
void Judge::checkArgument(const Op &op, const MapArgument &argument, uint64_t slot,
                          const writ_step &step) const {
  const auto expect = [&](uint64_t value) {
    if (slot != value)
      throw Fault(fmt::format("{}: argument '{}' is {:#x}, expected {:#x}", op.name, argument.name,
                              slot, value));
  };
  const auto address = [](const void *pointer) { return reinterpret_cast<uint64_t>(pointer); };
  const std::string &bind = argument.bind;
  const std::string name = bind.substr(bind.find(':') + 1);
  if (bind == "dim:rows")
    expect(static_cast<uint64_t>(rowsOf(op, step)));
  else if (bind.starts_with("dim:"))
    expect(static_cast<uint64_t>(op.dimensions.at(name)));
  else if (bind.starts_with("attr:")) {
    const float number = static_cast<float>(op.numbers.at(name));
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    slot &= 0xffffffff;
    expect(bits);
  } else if (bind == "kv.layer")
    expect(static_cast<uint64_t>(op.kvLayer));
  else if (bind == "kv.window")
    expect(static_cast<uint64_t>(facts.circuit().kvGroups.at(op.kvGroup).window));
  else if (bind == "kv.view")
    expect(address(step.kv + op.kvGroup));
  else if (bind == "rows.token")
    expect(address(step.rows->token));
  else if (bind == "rows.position")
    expect(address(step.rows->position));
  else if (bind == "rows.sequence")
    expect(address(step.rows->sequence));
  else if (bind == "rows.output_row")
    expect(address(step.rows->output_row));
  else if (argument.type == "weight" && (slot != 0) != op.weights.contains(operandOf(argument)))
    throw Fault(fmt::format("{}: weight '{}' is {}", op.name, argument.name,
                            slot ? "bound, but the circuit has none" : "not bound"));
}

Capture Judge::capture(const Op &op, const writ_step &step, const uint64_t *slots) {
  Capture now;
  const uint32_t index = static_cast<uint32_t>(&op - facts.calls().data());
  for (size_t i = 0; i < op.map->arguments.size(); ++i) {
    const MapArgument &argument = op.map->arguments[i];
    const std::string operand = operandOf(argument);
    if (operand.empty() || argument.type == "weight")
      continue;
    const bool isOutput = argument.type == "output";
    for (const OperandShape &shape : isOutput ? op.shape->outputs : op.shape->inputs) {
      if (shape.name != operand)
        continue;
      auto *base = reinterpret_cast<std::byte *>(slots[i]);
      const int64_t rows = op.shape->selectsRows && !isOutput ? step.rows->count : rowsOf(op, step);
      if (isOutput)
        outputAddresses[index][operand] = base;
      if (inScope(op))
        (isOutput ? now.outputs : now.inputs)[operand] =
            Bytes(base, base + rows * op.rowBytes(shape));
    }
  }
  if (op.shape->writesKv && inScope(op))
    captureKv(op, step, now);
  return now;
}

/// K and V of the rows of the step, read from the pages by the layout's formula.
void Judge::captureKv(const Op &op, const writ_step &step, Capture &into) const {
  const writ_kv_view &view = step.kv[op.kvGroup];
  const InstanceKvGroup &group = facts.circuit().kvGroups.at(op.kvGroup);
  const int64_t bytes = *writ::rowBytes(group.storage, group.kvHeads * group.headDim);
  for (int64_t row = 0; row < step.rows->count; ++row) {
    const int64_t position = step.rows->position[row];
    const int64_t block =
        view.block_table[step.rows->sequence[row] * view.table_stride + position / view.block_size];
    const int64_t offset = op.kvLayer * view.layer_stride + block * view.page_stride +
                           position % view.block_size * view.token_stride;
    for (auto [name, plane] : {std::pair("k_plane", view.k_plane), {"v_plane", view.v_plane}}) {
      const auto *at = static_cast<const std::byte *>(plane) + offset;
      into.outputs[name].insert(into.outputs[name].end(), at, at + bytes);
    }
  }
}

void Judge::checkWiring(const Op &op, const Capture &now) {
  for (const auto &[operand, source] : op.inputs)
    if (auto made = values.find(source); made != values.end()) {
      compareAll(op, "input, which is not '" + source + "'", {{operand, made->second}},
                 {{operand, now.inputs.at(operand)}});
      ++wired;
    }
}

/// Poison where the call `index` is going to write, if its buffers are known from an earlier step.
void Judge::poisonOutputs(const writ_step &step, uint32_t index) {
  const Op &op = facts.calls().at(index);
  for (const OperandShape &shape : op.shape->outputs)
    if (auto known = outputAddresses.find(index); known != outputAddresses.end())
      std::memset(known->second.at(std::string(shape.name)), int(kPoison),
                  static_cast<size_t>(rowsOf(op, step) * op.rowBytes(shape)));
}

void Judge::judgeHost(const Op &op, const std::string &operand, const Bytes &expected,
                      const Bytes &got) {
  compareAll(op, "output", {{operand, expected}}, {{operand, got}});
  ++tally[&op].calls;
}

const Bytes *Judge::value(const std::string &op) const {
  auto it = values.find(op);
  return it == values.end() ? nullptr : &it->second;
}

bool Judge::inScope(const Op &op) const {
  return scope == Scope::all || op.shape->writesKv ||
         (scope == Scope::positions && (op.shape->readsKv || op.family.starts_with("rope")));
}

int64_t Judge::rowsOf(const Op &op, const writ_step &step) {
  return op.ofOutputs ? step.rows->outputs : step.rows->count;
}

} // namespace writ::test
