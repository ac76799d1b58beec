#include "compiler/Emit/ReadCall.h"

#include "compiler/Diagnostics/Diagnostic.h"
#include "ir/CallIR/Call.h"
#include "ir/Shared/Families.h"

using namespace mlir;

namespace writ {
namespace {

class Reader {
public:
  explicit Reader(ModuleOp module) : module(module) {}

  CallModel read() {
    readModel();
    readKvGroups();
    readWeights();
    readEntries();
    for (auto op : module.getOps<graph::HostOp>()) {
      graph::ExecutionAttr execution = op.getResolvedExecution();
      result.hostOps.push_back({op.getOpName().str(), op.getFamily().str(),
                                execution.getContract().str(), execution.getProvider().str()});
    }
    return std::move(result);
  }

private:
  template <typename OpT> OpT need(const char *what) {
    OpT op = graph::findOne<OpT>(module);
    if (!op)
      throw Error({}, "E204",
                  std::string("the module has no ") + what + "; only CallIR can be emitted");
    return op;
  }

  void readModel() {
    auto model = need<graph::ModelOp>("graph.model");
    result.name = model.getModelName().str();
    result.circuit = model.getCircuit().str();
    result.profile = model.getProfile().str();
    result.target = model.getTarget().str();
    result.production = model.getProduction();
    result.vocabulary = int64_t(model.getVocabulary());
    result.contextLength = int64_t(model.getContextLength());
    for (NamedAttribute input : model.getInputs())
      result.inputs[input.getName().str()] = cast<StringAttr>(input.getValue()).getValue().str();
    result.resolutionSha256 = need<graph::ResolutionsOp>("graph.resolutions").getSha256().str();
    auto memory = need<lowered::MemoryOp>("lowered.memory");
    result.rowArenaBytes = int64_t(memory.getRowArena());
    result.outputArenaBytes = int64_t(memory.getOutputArena());
    result.logitsOffset = int64_t(memory.getLogitsOffset());
    result.weightsBytes = int64_t(memory.getWeights());
    result.kvBytesPerToken = int64_t(memory.getKvPerToken());
  }

  void readKvGroups() {
    for (auto group : module.getOps<graph::KvGroupOp>()) {
      auto kv = cast<graph::KvType>(group.getShape());
      groups[group.getSymName()] = int64_t(group.getIndex());
      result.kvGroups.push_back({kv.getStorage().str(), kv.getLayers(), kv.getKvHeads(),
                                 kv.getHeadDim(), *rowBytes(kv.getStorage(), kv.getHeadDim()),
                                 kv.getWindow()});
    }
  }

  void readWeights() {
    for (auto weight : module.getOps<lowered::WeightOp>()) {
      offsets[weight.getSymName()] = int64_t(weight.getOffset());
      PackedWeight packed{weight.getSymName().str(),  weight.getTensor().str(),
                          weight.getStorage().str(),  weight.getLayout().str(),
                          weight.getShape().vec(),    int64_t(weight.getOffset()),
                          int64_t(weight.getBytes()), {}};
      if (weight.getValues())
        for (double value : weight.getValues()->getValues<double>())
          packed.values.push_back(value);
      result.weights.push_back(std::move(packed));
    }
  }

  void readEntries() {
    std::vector<graph::ExecutionAttr> executions[2];
    bool found[2] = {false, false};
    for (auto entry : module.getOps<call::EntryOp>()) {
      bool decode = entry.getSymName() == "decode";
      found[decode] = true;
      for (auto kernel : entry.getBody().getOps<call::KernelOp>()) {
        executions[decode].push_back(kernel.getResolvedExecution());
        (decode ? result.decode : result.prefill).push_back(callOf(kernel));
      }
    }
    if (!found[0] || !found[1])
      throw Error({}, "E204",
                  "the module has no call.entry for prefill and decode; only CallIR "
                  "can be emitted");
    result.phasesAlike = executions[0] == executions[1];
  }

  Call callOf(call::KernelOp kernel) {
    graph::ExecutionAttr execution = kernel.getResolvedExecution();
    Call call{kernel.getCallee().str(),
              kernel.getOpName().str(),
              kernel.getFamily().str(),
              execution.getContract().str(),
              execution.getProvider().str(),
              kernel.getSection().str(),
              kernel.getLayer() ? int64_t(*kernel.getLayer()) : -1,
              {}};
    ArrayAttr declared = execution.getArguments();
    for (auto argument : kernel.getKernelArguments().getAsRange<call::ArgumentAttr>()) {
      const size_t slot = call.arguments.size();
      auto map = slot < declared.size() ? dyn_cast<graph::ArgumentAttr>(declared[slot]) : nullptr;
      call.arguments.push_back({argument.getName().str(), argument.getType().str(),
                                valueOf(argument.getValue()), map ? map.getBind().str() : ""});
    }
    return call;
  }

  CallValue valueOf(Attribute value) {
    if (auto buffer = dyn_cast<call::BufferAttr>(value))
      return CallBuffer{buffer.getArena().str(), buffer.getOffset()};
    if (auto weight = dyn_cast<FlatSymbolRefAttr>(value))
      return CallWeight{weight.getValue().str(), offsets.lookup(weight.getValue())};
    if (auto rows = dyn_cast<call::RowsAttr>(value))
      return CallRows{rows.getField().str()};
    if (auto kv = dyn_cast<call::KvAttr>(value))
      return CallKv{groups.lookup(kv.getGroup().getValue())};
    if (auto layer = dyn_cast<call::KvLayerAttr>(value))
      return CallKvLayer{layer.getIndex()};
    if (auto number = dyn_cast<FloatAttr>(value))
      return number.getValue().convertToFloat();
    if (auto number = dyn_cast<IntegerAttr>(value))
      return number.getInt();
    return CallNull{};
  }

  ModuleOp module;
  CallModel result;
  llvm::StringMap<int64_t> groups, offsets;
};

} // namespace

CallModel readCall(ModuleOp module) {
  return Reader(module).read();
}

} // namespace writ
