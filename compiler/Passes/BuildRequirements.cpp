//===- BuildRequirements.cpp - from a circuit instance to requirements ----===//
#include "compiler/Passes/BuildRequirements.h"

#include "compiler/Passes/Passes.h"
#include "compiler/Resolve/TakenNames.h"
#include "ir/GraphIR/Graph.h"
#include "ir/Shared/Families.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace writ {
namespace {

using Fields = std::map<std::string, std::string>;

/// The folder that holds the circuits' folder, with its slash.
std::string parentOf(const CatalogPaths &paths) {
  std::string folder = paths.circuits;
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  size_t slash = folder.rfind('/');
  return slash == std::string::npos ? "" : folder.substr(0, slash + 1);
}

class Builder {
public:
  Builder(MLIRContext *context, const CircuitInstance &instance, const Catalog &catalog,
          const Profile &profile, const BuildOptions &options)
      : context(context), instance(instance), catalog(catalog), profile(profile), options(options),
        builder(context) {}

  OwningOpRef<ModuleOp> run();

private:
  void addDeclarations();
  void addPhase(const std::string &phase, const std::vector<InstanceOp> &ops);
  void addOp(const InstanceOp &op, const std::string &phase);
  void requireTaken(const InstanceOp &op, const Contract &contract) const;
  std::string adapt(const InstanceOp &op, const std::string &operand, const std::string &phase,
                    const std::string &wanted);
  void addRequirement(const InstanceOp &op, const std::string &phase, const Contract &contract,
                      const Fields &inputs);
  const Contract &contractFor(const InstanceOp &op, const std::string &phase, const Fields &fields,
                              const std::string &wanted);
  FlatSymbolRefAttr weightSymbol(const InstanceWeight &weight, mlir::Location location);

  mlir::Location at(const InstanceOp &op) {
    writ::Location location = op.location;
    location.file = portableFile(catalog.paths(), location.file);
    return toMlir(context, location);
  }
  DictionaryAttr dictionary(const std::map<std::string, Attribute> &fields) {
    SmallVector<NamedAttribute> entries;
    for (const auto &[name, value] : fields)
      entries.push_back(builder.getNamedAttr(name, value));
    return builder.getDictionaryAttr(entries);
  }
  DictionaryAttr words(const Fields &fields) {
    std::map<std::string, Attribute> entries;
    for (const auto &[name, value] : fields)
      entries[name] = builder.getStringAttr(value);
    return dictionary(entries);
  }

  MLIRContext *context;
  const CircuitInstance &instance;
  const Catalog &catalog;
  const Profile &profile;
  const BuildOptions &options;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  std::vector<writ::Diagnostic> faults;
  std::map<std::string, std::string> storageOfValue; ///< in the phase at hand: op → storage
  std::map<std::string, int64_t> widthOfValue;
  std::map<std::string, FlatSymbolRefAttr> weightSymbols;
  int64_t requirements = 0;
};

void Builder::addDeclarations() {
  std::map<std::string, std::string> inputs = options.inputs;
  inputs["circuit"] = instance.circuitDigest;
  inputs["profile"] = profile.digest;
  builder.create<graph::ModelOp>(builder.getUnknownLoc(), instance.name, instance.circuit,
                                 profile.id, options.target, instance.vocabulary,
                                 instance.contextLength, instance.result, options.production,
                                 words(inputs));
  for (size_t i = 0; i < instance.kvGroups.size(); ++i) {
    const InstanceKvGroup &group = instance.kvGroups[i];
    auto type = graph::KvType::getChecked([&] { return emitError(builder.getUnknownLoc()); },
                                          context, StringRef(group.storage), group.layers,
                                          group.kvHeads, group.headDim, group.window);
    if (!type)
      throw Error(group.location, "E202",
                  fmt::format("KV group {} of {} layers of {} x {} '{}' cannot be kept: {}", i,
                              group.layers, group.kvHeads, group.headDim, group.storage,
                              group.layers < 1
                                  ? "no op has its K and V there"
                                  : "the elements of a head do not fill blocks of that storage"));
    builder.create<graph::KvGroupOp>(builder.getUnknownLoc(), fmt::format("kv{}", i), int64_t(i),
                                     type);
  }
}

FlatSymbolRefAttr Builder::weightSymbol(const InstanceWeight &weight, mlir::Location location) {
  FlatSymbolRefAttr &symbol = weightSymbols[weight.tensor];
  if (!symbol) {
    symbol = FlatSymbolRefAttr::get(context, weight.tensor);
    builder.create<graph::WeightOp>(
        location, weight.tensor, weight.tensor, weight.storage, weight.shape, StringAttr(),
        weight.constant.empty()
            ? DenseFPElementsAttr()
            : cast<DenseFPElementsAttr>(DenseElementsAttr::get(
                  RankedTensorType::get(int64_t(weight.constant.size()), builder.getF64Type()),
                  ArrayRef<double>(weight.constant))));
  }
  return symbol;
}

const Contract &Builder::contractFor(const InstanceOp &op, const std::string &phase,
                                     const Fields &fields, const std::string &wanted) {
  std::string id = contractOf(catalog, profile, op.op, fields, wanted, op.location, givenNames(op));
  auto it = catalog.contracts().find(id);
  if (it == catalog.contracts().end() || it->second.family != op.op)
    throw Error(op.location, "E202",
                fmt::format("'{}' ({}) has contract '{}', which is no contract of family '{}'",
                            op.name, phase, id, op.op));
  return it->second;
}

/// The op whose value `op` may read as `operand` in the storage that its contract wants: the value
/// itself, or its codes.
std::string Builder::adapt(const InstanceOp &op, const std::string &operand,
                           const std::string &phase, const std::string &wanted) {
  const std::string &source = op.inputs.at(operand);
  auto has = storageOfValue.find(source);
  if (has == storageOfValue.end())
    throw Error(op.location, "E202",
                fmt::format("'{}' reads '{}' in {}, but no op before it makes that", op.name,
                            source, phase));
  if (has->second == wanted)
    return source;
  std::string name = source + "." + wanted;
  if (storageOfValue.contains(name))
    return name;
  InstanceOp codes;
  codes.op = "quantize_activation";
  codes.name = name;
  codes.kind = op.kind;
  codes.layer = op.layer;
  codes.location = op.location;
  codes.inputs["input"] = source;
  codes.dimensions["k"] = widthOfValue.at(source);
  const Contract &contract =
      contractFor(codes, phase, {{"input", has->second}, {"out", wanted}}, "profile");
  auto from = contract.storage.find("input");
  if (from == contract.storage.end() || from->second != has->second)
    throw Error(op.location, "E202",
                fmt::format("'{}' wants '{}' as {}, but '{}' makes {} and contract '{}' does not "
                            "convert that",
                            op.name, operand, wanted, source, has->second, contract.id));
  addRequirement(codes, phase, contract, codes.inputs);
  return name;
}

/// What an op gives beyond its family's needs, a word of its contract takes, and the reverse: a cap
/// that nobody applies would be another model.
void Builder::requireTaken(const InstanceOp &op, const Contract &contract) const {
  const TakenNames possible = takenInFamily(catalog, op.op), taken = takenBy(catalog, contract);
  const auto compare = [&](const char *what, const TakenNames::Takers &all,
                           const TakenNames::Takers &needed, auto given) {
    for (const auto &[name, takers] : all) {
      const auto taker = needed.find(name);
      if (taker != needed.end() && !given(name))
        throw Error(op.location, "E202",
                    fmt::format("'{}' gives no {} '{}', which {} takes in its contract '{}'",
                                op.name, what, name, describe(taker->second[0]), contract.id),
                    {{taker->second[0].location, "the word stands here"}});
      if (taker == needed.end() && given(name))
        throw Error(op.location, "E202",
                    fmt::format("'{}' gives {} '{}', but no word of its contract '{}' takes that",
                                op.name, what, name, contract.id),
                    {{takers[0].location, fmt::format("it is taken by {}", describe(takers[0]))}});
    }
  };
  compare("number", possible.numbers, taken.numbers,
          [&](const std::string &name) { return op.numbers.contains(name); });
  compare("operand", possible.operands, taken.operands, [&](const std::string &name) {
    return op.weights.contains(name) || op.inputs.contains(name);
  });
}

void Builder::addOp(const InstanceOp &op, const std::string &phase) {
  Fields fields = op.attributes;
  for (const auto &[operand, weight] : op.weights)
    fields[operand] = weight.storage;
  if (op.kvGroup >= 0)
    fields["kv"] = instance.kvGroups.at(op.kvGroup).storage;
  auto wanted = op.contracts.find(phase);
  if (wanted == op.contracts.end())
    throw Error(op.location, "E202",
                fmt::format("'{}' has no required contract for phase '{}'", op.name, phase));
  const Contract &contract = contractFor(op, phase, fields, wanted->second);
  requireTaken(op, contract);
  Fields inputs;
  for (const auto &[operand, source] : op.inputs) {
    auto storage = contract.storage.find(operand);
    if (storage == contract.storage.end())
      throw Error(op.location, "E202",
                  fmt::format("contract '{}' of '{}' gives no storage of operand '{}'", contract.id,
                              op.name, operand));
    inputs[operand] = phase == "sample" ? source : adapt(op, operand, phase, storage->second);
  }
  addRequirement(op, phase, contract, inputs);
}

void Builder::addRequirement(const InstanceOp &op, const std::string &phase,
                             const Contract &contract, const Fields &inputs) {
  Fields storage;
  std::map<std::string, Attribute> dimensions, numbers, weights;
  for (const OperandRule &rule : catalog.families().at(op.op).operands) {
    bool present = !rule.optional || op.weights.contains(rule.name) || inputs.contains(rule.name);
    if (auto it = contract.storage.find(rule.name); present && it != contract.storage.end())
      storage[rule.name] = it->second;
  }
  for (const auto &[operand, weight] : op.weights) {
    storage[operand] = weight.storage;
    weights[operand] = weightSymbol(weight, at(op));
  }
  if (op.kvGroup >= 0)
    storage["kv"] = instance.kvGroups.at(op.kvGroup).storage;
  for (const auto &[name, size] : op.dimensions)
    dimensions[name] = builder.getI64IntegerAttr(size);
  for (const auto &[name, number] : op.numbers)
    numbers[name] = builder.getF64FloatAttr(number);
  auto optional = [&](int64_t value) {
    return value < 0 ? IntegerAttr() : builder.getI64IntegerAttr(value);
  };
  builder.create<graph::RequirementOp>(
      at(op), builder.getStringAttr(fmt::format("r{}", requirements++)),
      builder.getStringAttr(op.name), builder.getStringAttr(op.op), builder.getStringAttr(phase),
      builder.getStringAttr(contract.id), builder.getStringAttr(options.target), words(storage),
      dictionary(dimensions), words(op.attributes), dictionary(numbers), words(inputs),
      dictionary(weights), builder.getStringAttr(op.kind), optional(op.layer),
      op.kvGroup < 0 ? FlatSymbolRefAttr()
                     : FlatSymbolRefAttr::get(context, fmt::format("kv{}", op.kvGroup)),
      optional(op.kvLayer), ArrayAttr(), StringAttr());
  const FamilyShape *shape = findFamilyShape(op.op);
  if (!shape || shape->outputs.empty())
    return;
  auto size = [&](std::string_view name) -> std::optional<int64_t> {
    auto it = op.dimensions.find(std::string(name));
    return it == op.dimensions.end() ? std::nullopt : std::optional(it->second);
  };
  storageOfValue[op.name] = storage[std::string(shape->outputs[0].name)];
  widthOfValue[op.name] = rowWidth(shape->outputs[0], size).value_or(0);
}

void Builder::addPhase(const std::string &phase, const std::vector<InstanceOp> &ops) {
  storageOfValue.clear();
  widthOfValue.clear();
  for (const InstanceOp &op : ops)
    try {
      addOp(op, phase);
    } catch (const Error &error) {
      for (const writ::Diagnostic &fault : error.diagnostics())
        if (std::none_of(faults.begin(), faults.end(), [&](const writ::Diagnostic &known) {
              return toString(known) == toString(fault);
            }))
          faults.push_back(fault); // both phases fail alike
      return;                      // what follows reads this op's value
    }
}

OwningOpRef<ModuleOp> Builder::run() {
  module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  addDeclarations();
  for (const char *phase : {"prefill", "decode"})
    addPhase(phase, instance.ops);
  addPhase("sample", instance.hostOps);
  if (!faults.empty())
    throw Error(faults);
  // Weights are declared before the requirements that name them.
  Operation *first = nullptr;
  for (Operation &op : *module->getBody())
    if (isa<graph::RequirementOp>(op)) {
      first = &op;
      break;
    }
  if (first)
    for (auto weight : llvm::make_early_inc_range(module->getOps<graph::WeightOp>()))
      if (!weight->isBeforeInBlock(first))
        weight->moveBefore(first);
  return std::move(module);
}

} // namespace

std::string portableFile(const CatalogPaths &paths, const std::string &file) {
  std::string parent = parentOf(paths);
  return file.starts_with(parent) ? file.substr(parent.size()) : file;
}

std::string actualFile(const CatalogPaths &paths, const std::string &file) {
  std::string parent = parentOf(paths);
  bool relative = !file.empty() && file.front() != '/' && !file.starts_with(parent);
  return relative || parent.empty() ? parent + file : file;
}

OwningOpRef<ModuleOp> buildRequirements(MLIRContext *context, const CircuitInstance &instance,
                                        const Catalog &catalog, const Profile &profile,
                                        const BuildOptions &options) {
  return Builder(context, instance, catalog, profile, options).run();
}

} // namespace writ
