#include "compiler/Tools/writ/PackageCalls.h"

#include "compiler/Import/ModelFile.h"
#include "compiler/Passes/Pipeline.h"
#include "compiler/Support/Json.h"
#include "compiler/Tools/writ/LockedFile.h"
#include "writ/package_format.h"

#include <fmt/format.h>

namespace writ::tool {
namespace {

/// The decision of each (phase, op), from the report.
using Decisions = std::map<std::pair<std::string, std::string>, const Json *>;

Decisions decisionsOf(const Json &report) {
  Decisions decisions;
  const std::vector<Json> &all = report.at("decisions").elements();
  for (const Json &op : report.at("ops").elements()) {
    const Json &index = op.at("decision");
    if (index.asInteger() < 0 || index.asInteger() >= int64_t(all.size()))
      throw Error(
          index.location(), "E050",
          fmt::format("{} is not the index of one of {} decisions", index.asInteger(), all.size()));
    decisions[{op.at("phase").asString(), op.at("op").asString()}] =
        &all[size_t(index.asInteger())];
  }
  return decisions;
}

int64_t fileBytes(const PackedWeight &weight) {
  const StorageType *type = findStorageType(weight.storage);
  int64_t elements = 1;
  for (int64_t extent : weight.shape)
    elements *= extent;
  return type ? elements / int64_t(type->blockElements) * int64_t(type->blockBytes) : weight.bytes;
}

class Reader {
public:
  Reader(const CallModel &model, const Json &report)
      : model(model), report(report), decisions(decisionsOf(report)) {
    for (const PackedWeight &weight : model.weights)
      weights[weight.name] = &weight;
  }

  PackageCalls read() {
    PackageCalls result;
    for (const CallKvGroup &group : model.kvGroups)
      result.kvGroups.push_back({group.storage, group.kvHeads * group.headDim,
                                 group.kvHeads * group.rowBytes, group.window});
    for (const auto &[phase, calls] :
         {std::pair{"prefill", &model.prefill}, std::pair{"decode", &model.decode}})
      for (const Call &call : *calls)
        result.calls.push_back(callOf(call, phase));
    return result;
  }

private:
  PackageCall callOf(const Call &call, const std::string &phase) {
    PackageCall result{call.op,
                       call.family,
                       phase,
                       call.contract,
                       call.provider,
                       call.section,
                       call.layer,
                       findFamilyShape(call.family),
                       {},
                       {},
                       {},
                       {},
                       -1,
                       -1,
                       false};
    const auto decision = decisions.find({phase, call.op});
    if (decision == decisions.end() || !result.shape)
      throw Error(report.at("ops").location(), "E050",
                  fmt::format("there is no decision for the call '{}' in {}", call.op, phase));
    for (const Json::Member &dimension : decision->second->at("dimensions").members())
      if (dimension.value.isInteger())
        result.dimensions[dimension.key] = dimension.value.asInteger();
    for (size_t slot = 0; slot < call.arguments.size(); ++slot)
      addArgument(result, call.arguments[slot], slot, decision->second->at("storage"));
    result.ofOutputs = !result.outputs.empty() && result.outputs.front().ofOutputs;
    return result;
  }

  void addArgument(PackageCall &call, const CallArgument &argument, size_t slot,
                   const Json &storages) {
    if (const auto *weight = std::get_if<CallWeight>(&argument.value)) {
      const PackedWeight &packed = *weights.at(weight->name);
      call.weights.push_back({packed.tensor, packed.storage, packed.shape, fileBytes(packed)});
    } else if (const auto *kv = std::get_if<CallKv>(&argument.value)) {
      call.kvGroup = kv->group;
    } else if (const auto *layer = std::get_if<CallKvLayer>(&argument.value)) {
      call.kvLayer = layer->index;
    } else if (const auto *buffer = std::get_if<CallBuffer>(&argument.value)) {
      const bool isOutput = argument.type == "output";
      for (const OperandShape &shape : isOutput ? call.shape->outputs : call.shape->inputs)
        if (argument.bind == fmt::format("operand:{}", shape.name))
          (isOutput ? call.outputs : call.inputs)
              .push_back(operandOf(call, shape, *buffer, slot, storages));
    }
  }

  CallOperand operandOf(const PackageCall &call, const OperandShape &shape,
                        const CallBuffer &buffer, size_t slot, const Json &storages) {
    CallOperand operand{std::string(shape.name),
                        storages.at(shape.name).asString(),
                        slot,
                        buffer.arena == "outputs",
                        0,
                        0};
    const auto width = rowWidth(shape, [&](std::string_view name) -> std::optional<int64_t> {
      const auto found = call.dimensions.find(std::string(name));
      return found == call.dimensions.end() ? std::nullopt : std::optional(found->second);
    });
    const auto bytes = width ? rowBytes(operand.storage, *width) : std::nullopt;
    if (!bytes)
      throw Error(storages.location(), "E050",
                  fmt::format("operand '{}' of '{}' has no size", shape.name, call.op));
    operand.width = *width;
    operand.bytes = *bytes;
    return operand;
  }

  const CallModel &model;
  const Json &report;
  Decisions decisions;
  std::map<std::string, const PackedWeight *> weights;
};

} // namespace

PackageCalls readPackageCalls(const std::string &package) {
  const Json report = parseJson(readLockedFile(package, kReportFile), package + "/" + kReportFile);
  Compilation compilation;
  compilation.parse(readLockedFile(package, kCallFile), package + "/" + kCallFile);
  const CallModel model = compilation.callModel();
  return Reader(model, report).read();
}

} // namespace writ::tool
