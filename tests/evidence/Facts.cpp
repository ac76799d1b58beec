//===- Facts.cpp - what circuit and model file say of each call -----------===//
#include "tests/evidence/Facts.h"

#include "compiler/Resolve/Resolver.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace writ::test {
namespace {

std::map<std::string, std::string> fieldsOf(const Op &op) {
  std::map<std::string, std::string> fields = op.attributes;
  for (const auto &[operand, weight] : op.weights)
    fields[operand] = weight.storage;
  return fields;
}

/// The one storage in which all groups of the package keep K and V; none where they differ.
std::string kvStorageOf(const writ_model_desc &package) {
  std::set<std::string> storages;
  for (uint32_t i = 0; i < package.kv_group_count; ++i)
    storages.insert(package.kv_groups[i].storage);
  return storages.size() == 1 ? *storages.begin() : "";
}

} // namespace

int64_t Op::width(const OperandShape &operand) const {
  const auto size = [&](std::string_view name) -> std::optional<int64_t> {
    auto it = dimensions.find(std::string(name));
    return it == dimensions.end() ? std::nullopt : std::optional(it->second);
  };
  const std::optional<int64_t> elements = writ::rowWidth(operand, size);
  if (!elements)
    throw Fault(name + ": no width of operand '" + std::string(operand.name) + "'");
  return *elements;
}

int64_t Op::rowBytes(const OperandShape &operand) const {
  const std::string &storage = contract->storage.at(std::string(operand.name));
  const std::optional<int64_t> bytes = writ::rowBytes(storage, width(operand));
  if (!bytes)
    throw Fault(name + ": rows of " + storage + " have no size");
  return *bytes;
}

Facts::Facts(const std::string &data, const std::string &modelFile, const writ_model_desc &package)
    : model(openModelFile(modelFile)), catalog(Catalog::load(CatalogPaths::below(data), {})),
      instance(instantiate(catalog, findCircuit(catalog, *model), *model, kvStorageOf(package))),
      profile(package.profile), vocabulary(catalog.vocabulary().plain()),
      functions(readJsonFile(catalog.paths().contracts + "/functions.json").plain()) {
  if (instance.circuit != package.circuit)
    throw Fault("the package is of circuit '" + std::string(package.circuit) + "', the model of '" +
                instance.circuit + "'");
  for (const InstanceOp &op : instance.ops)
    byName[op.name] = &op;
  std::map<std::string, int> called; // how often each op of the circuit, on its own or as a part
  for (uint32_t i = 0; i < package.call_count; ++i) {
    const bool decode = i >= package.call_count / 2;
    if (i == package.call_count / 2)
      made.clear();
    ops.push_back(makeOp(package.calls[i], decode ? "decode" : "prefill"));
    for (const std::string &name : ops.back().parts)
      called[name] += byName.contains(name);
    made.insert_or_assign(ops.back().name, ops.back());
  }
  for (const InstanceOp &op : instance.ops)
    if (const int times = called[op.name]; times != 2)
      throw Fault("the package calls '" + op.name + "' " + std::to_string(times) +
                  " times, not once in each phase");
  for (const InstanceOp &op : instance.hostOps) {
    Op host = fromCircuit(op);
    const writ_provider *provider =
        op.op == "sample" ? package.sample : package.log_probability; // the two that there are
    const std::string id = contractOf(catalog, catalog.profiles().at(profile), op.op,
                                      fieldsOf(host), op.contracts.at("sample"), op.location);
    host.contract = &catalog.contracts().at(id);
    host.contractJson = host.contract->json.plain();
    require(host, id, provider->id);
    host.map = &catalog.kernelMaps().at(provider->id);
    hostOps.push_back(std::move(host));
  }
}

/// A group of ops that the profile joins: each part is made as if it stood alone, in order.
Op Facts::makeFused(const writ_call_info &info, const std::string &phase) {
  const Family &fusion = catalog.families().at(info.family);
  std::vector<std::string> names = {info.op};
  while (names.size() < fusion.parts.size()) { // a part reads the value of the one before it
    const auto found = byName.find(names.front());
    std::string source = names.front().substr(0, names.front().rfind('.'));
    if (found != byName.end())
      for (const auto &[operand, maker] : found->second->inputs)
        if (fusion.inner.contains(
                fusion.parts.at(fusion.parts.size() - names.size()).nameOf(operand)))
          source = maker;
    names.insert(names.begin(), source);
  }
  std::vector<std::string> contracts;
  std::istringstream ids(info.contract);
  for (std::string id; std::getline(ids, id, '+');)
    contracts.push_back(id);
  if (contracts.size() != names.size())
    throw Fault(std::string(info.op) + ": contract '" + info.contract +
                "' is none of a fusion of " + std::to_string(names.size()) + " parts");
  Op fused;
  const std::map<std::string, Op> before = made;
  for (size_t i = 0; i < names.size(); ++i) {
    const FamilyPart &part = fusion.parts[i];
    const Op one =
        makeOp({names[i].c_str(), part.family.c_str(), contracts[i].c_str(), nullptr}, phase);
    made.insert_or_assign(names[i], one);
    const auto take = [&](const auto &from, auto &into) {
      for (const auto &[name, value] : from)
        if (!fusion.inner.contains(part.nameOf(name)))
          into.insert_or_assign(part.nameOf(name), value);
    };
    take(one.inputs, fused.inputs);
    take(one.weights, fused.weights);
    take(one.dimensions, fused.dimensions);
    take(one.attributes, fused.attributes);
    take(one.numbers, fused.numbers);
    fused.ofOutputs = one.ofOutputs;
  }
  made = before;
  fused.name = info.op;
  fused.family = info.family;
  fused.parts = names;
  require(fused, info.contract, info.provider);
  fused.contract = &catalog.contracts().at(info.contract);
  fused.contractJson = fused.contract->json.plain();
  fused.map = &catalog.kernelMaps().at(info.provider);
  fused.shape = findFamilyShape(fused.family);
  return fused;
}

Op Facts::makeOp(const writ_call_info &info, const std::string &phase) {
  if (!catalog.families().at(info.family).parts.empty())
    return makeFused(info, phase);
  auto found = byName.find(info.op);
  Op op = found == byName.end() ? conversion(info.op, info.family) : fromCircuit(*found->second);
  std::map<std::string, std::string> fields = fieldsOf(op);
  if (op.kvGroup >= 0)
    fields["kv"] = instance.kvGroups.at(op.kvGroup).storage;
  std::string wanted = "profile";
  if (found != byName.end())
    wanted = found->second->contracts.at(phase);
  else // a conversion is chosen by the storages of both sides
    for (const auto &[operand, source] : op.inputs)
      fields = {{operand, made.at(source).contract->storage.at("out")},
                {"out", op.name.substr(source.size() + 1)}};
  const std::string id =
      contractOf(catalog, catalog.profiles().at(profile), op.family, fields, wanted,
                 found == byName.end() ? Location() : found->second->location,
                 found == byName.end() ? std::set<std::string>() : givenNames(*found->second));
  if (id != info.contract)
    throw Fault(op.name + ": the package has contract '" + info.contract +
                "', the profile gives '" + id + "'");
  op.contract = &catalog.contracts().at(id);
  op.contractJson = op.contract->json.plain();
  if (info.provider) { // a part of a fusion has none of its own
    require(op, id, info.provider);
    op.map = &catalog.kernelMaps().at(info.provider);
  }
  op.parts = {op.name};
  op.shape = findFamilyShape(op.family);
  op.ofOutputs = op.shape->selectsRows;
  // An op reads the value itself, or its conversion to what the contract wants, which may be all
  // that a fusion makes of it.
  for (auto &[operand, source] : op.inputs) {
    const std::string &storage = op.contract->storage.at(operand);
    if (!made.contains(source) || made.at(source).contract->storage.at("out") != storage)
      source += "." + storage;
    if (!made.contains(source))
      throw Fault(op.name + ": '" + source + "' is not made before it");
    op.ofOutputs = op.ofOutputs || made.at(source).ofOutputs;
  }
  return op;
}

Op Facts::fromCircuit(const InstanceOp &instanceOp) {
  Op op;
  op.name = instanceOp.name;
  op.family = instanceOp.op;
  op.inputs = instanceOp.inputs;
  op.weights = instanceOp.weights;
  op.dimensions = instanceOp.dimensions;
  op.attributes = instanceOp.attributes;
  op.numbers = instanceOp.numbers;
  op.kvGroup = instanceOp.kvGroup;
  op.kvLayer = instanceOp.kvLayer;
  return op;
}

/// A call that the compiler puts between two ops: "<source>.<storage>".
Op Facts::conversion(const std::string &name, const std::string &family) {
  const size_t dot = name.rfind('.');
  const std::string source = name.substr(0, dot);
  const FamilyShape *shape = findFamilyShape(family);
  if (dot == std::string::npos || !made.contains(source) || !shape || shape->inputs.size() != 1 ||
      shape->dimensions.size() != 1)
    throw Fault("the circuit has no op '" + name + "' (" + family + ")");
  Op op;
  op.name = name;
  op.family = family;
  op.inputs[std::string(shape->inputs[0].name)] = source;
  const Op &producer = made.at(source);
  op.dimensions[std::string(shape->dimensions[0])] = producer.width(producer.shape->outputs[0]);
  return op;
}

void Facts::require(const Op &op, const std::string &contract, const std::string &provider) const {
  auto map = catalog.kernelMaps().find(provider);
  if (map == catalog.kernelMaps().end() ||
      std::ranges::find(map->second.contracts, contract) == map->second.contracts.end())
    throw Fault(op.name + ": provider '" + provider + "' does not keep '" + contract + "'");
}

const Op &Facts::hostOp(const std::string &family) const {
  for (const Op &op : hostOps)
    if (op.family == family)
      return op;
  throw Fault("the circuit has no host op '" + family + "'");
}

std::span<std::byte> Facts::bytes(const InstanceWeight &weight) const {
  // The reference takes operands that could be written, and writes no weight.
  if (!weight.constant.empty())
    return {reinterpret_cast<std::byte *>(const_cast<double *>(weight.constant.data())),
            weight.constant.size() * sizeof(double)};
  const TensorInfo *tensor = model->findTensor(weight.tensor);
  if (!tensor)
    throw Fault("the model has no tensor '" + weight.tensor + "'");
  const std::span<const std::byte> bytes = model->bytes(*tensor);
  return {const_cast<std::byte *>(bytes.data()), bytes.size()};
}

std::map<std::string, nlohmann::json> Facts::contractsOf(const std::string &family) const {
  std::map<std::string, nlohmann::json> found;
  for (const auto &[id, contract] : catalog.contracts())
    if (contract.family == family)
      found[id] = contract.json.plain();
  return found;
}

reference::Call Facts::referenceCall(const Op &op) const {
  reference::Call call;
  call.contract = &op.contractJson;
  call.vocabulary = &vocabulary;
  call.functions = &functions;
  call.dimensions = op.dimensions;
  call.attributes = op.attributes;
  call.numbers = op.numbers;
  return call;
}

std::vector<std::string> Facts::storages() const {
  std::set<std::string> types;
  for (const InstanceOp &op : instance.ops)
    for (const auto &[operand, weight] : op.weights)
      if (weight.constant.empty())
        types.insert(weight.storage);
  return {types.begin(), types.end()};
}

} // namespace writ::test
