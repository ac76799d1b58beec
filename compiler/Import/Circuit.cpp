//===- Circuit.cpp - a circuit instantiated for one model file ------------===//
#include "compiler/Import/Circuit.h"

#include "compiler/Import/Constants.h"
#include "compiler/Import/LayerVariants.h"
#include "compiler/Import/Parameters.h"
#include "compiler/Support/Digest.h"
#include "compiler/Support/EditDistance.h"
#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace writ {
namespace {

/// More layers, KV heads, or dimensions of one head are no model but a mistake that would take all
/// time and memory; up to them, no sum of sizes in the stages behind leaves 64 bits.
constexpr int64_t kMostLayers = 1 << 16, kMostOfAHead = 1 << 16;

/// The value of a size that the circuit computes: E033 where it is not in [least, most].
int64_t requireRange(const Json &at, const char *what, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most)
    throw Error(at.location(), "E033",
                fmt::format("{} is {}, expected {} to {}", what, value, least, most));
  return value;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

class Instantiation {
public:
  Instantiation(const Catalog &catalog, const Json &circuit, const ModelFile &model,
                const std::string &kvStorage)
      : catalog(catalog), circuit(circuit), model(model), parameters(circuit, model) {
    instance.kvStorage = kvStorage;
  }

  CircuitInstance run();

private:
  void addKvGroups();
  void addSection(const Json &section);
  void addOp(const Json &json, const std::string &kind, const std::string &prefix, int64_t layer,
             std::vector<InstanceOp> &into);
  const Family &familyOf(const Json &json) const;
  void bindInputs(const Json &json, const Family &family, const std::string &prefix,
                  InstanceOp &op);
  void bindWeights(const Json &json, const Family &family, InstanceOp &op);
  std::optional<InstanceWeight> bindWeight(const Json &weight, const std::string &operand);
  RopeScaling scalingNamed(const Json &name, int64_t dimensions);
  float scoreScaleOf(const Json &rule, const InstanceOp &op);
  void checkShape(const OperandRule &rule, const InstanceOp &op, const InstanceWeight &weight);
  void bindFields(const Json &json, const Family &family, InstanceOp &op);
  void bindState(const Json &json, const Family &family, InstanceOp &op);
  void requireWord(const std::string &list, const std::string &word, const Json &at) const;
  bool hasWindow(const Family &family, const InstanceOp &op) const;
  void checkTensorsUsed() const;
  void addChatTemplates();

  const Catalog &catalog;
  const Json &circuit;
  const ModelFile &model;
  Parameters parameters;
  CircuitInstance instance;
  std::set<std::string> usedTensors;
  std::map<std::string, size_t> opByName;
  std::map<std::string, std::string> carried; ///< carry name → op that holds its value now
  std::vector<std::string> groupNames;
};

const Family &Instantiation::familyOf(const Json &json) const {
  const Json &op = json.at("op");
  auto it = catalog.families().find(op.asString());
  const auto runs = [](const Family &family) { // else it is computed when compiling, or a fusion
    return family.parts.empty() &&
           std::find(family.phases.begin(), family.phases.end(), "compile") == family.phases.end();
  };
  if (it != catalog.families().end() && runs(it->second))
    return it->second;
  std::vector<std::string> known;
  for (const auto &[name, family] : catalog.families())
    if (runs(family))
      known.push_back(name);
  std::vector<std::string> nearest = nearestNames(op.asString(), known);
  throw Error(op.location(), "E030", fmt::format("'{}' is not an op family", op.asString()),
              {{{},
                fmt::format("{}: {}", nearest.empty() ? "families" : "nearest",
                            quotedList(nearest.empty() ? known : nearest))}});
}

void Instantiation::bindInputs(const Json &json, const Family &family, const std::string &prefix,
                               InstanceOp &op) {
  const Json *inputs = json.find("inputs");
  if (inputs)
    for (const Json::Member &input : inputs->members()) {
      const std::string name = parameters.expand(input.value);
      std::string source;
      if (opByName.contains(prefix + name))
        source = prefix + name;
      else if (auto it = carried.find(name); it != carried.end())
        source = it->second;
      else if (opByName.contains(name))
        source = name;
      else
        throw Error(input.value.location(), "E030",
                    fmt::format("input '{}' of op '{}' is made by no op before it", name, op.name));
      op.inputs[input.key] = source;
    }
  for (const OperandRule &rule : family.operands)
    if (rule.kind == "input" && !rule.optional && !op.inputs.contains(rule.name))
      throw Error(
          json.location(), "E030",
          fmt::format("op '{}' has no input '{}'; '{}' needs it", op.name, rule.name, family.name));
}

std::optional<InstanceWeight> Instantiation::bindWeight(const Json &weight,
                                                        const std::string &operand) {
  if (const Json *rope = weight.find("rope_frequencies")) {
    InstanceWeight constant;
    const Json &size = rope->at("dimensions"), &base = rope->at("base");
    const int64_t dimensions = requireRange(size, "the number of rotary dimensions",
                                            parameters.integer(size), 2, kMostOfAHead);
    const double value = parameters.number(base);
    if (!(value > 0))
      throw Error(base.location(), "E033",
                  fmt::format("the rotary base is {}, expected a positive number", value));
    const Json *name = rope->find("scaling");
    const RopeScaling scaling = name ? scalingNamed(*name, dimensions) : RopeScaling();
    constant.constant = ropeFrequencies(value, dimensions, scaling);
    for (const double frequency : constant.constant)
      if (!std::isfinite(frequency))
        throw Error(base.location(), "E033",
                    fmt::format("a rotary frequency is {} with base {}, {} dimensions and scaling "
                                "'{}', expected a finite number",
                                frequency, value, dimensions, scaling.word));
    constant.storage = kConstantStorage;
    constant.shape = {dimensions / 2};
    return constant;
  }
  const std::string wanted = parameters.expand(weight.at("tensor"));
  const TensorInfo *tensor = model.findTensor(wanted);
  if (const Json *otherwise = weight.find("otherwise"); !tensor && otherwise)
    tensor = model.findTensor(parameters.expand(*otherwise));
  if (const Json *optional = weight.find("optional"); !tensor && optional && optional->asBool())
    return std::nullopt;
  if (!tensor)
    throw Error({model.path()}, "E032",
                fmt::format("tensor '{}' is missing; it is the {}", wanted, operand),
                {{weight.location(), "the circuit names it here"}});
  usedTensors.insert(tensor->name);
  return InstanceWeight{tensor->name, tensor->storage->name, tensor->shape, {}};
}

/// The circuit's scaling of that name, as the model has it.
RopeScaling Instantiation::scalingNamed(const Json &name, int64_t dimensions) {
  const Json *scalings = circuit.find("rope_scalings");
  const Json *rule = scalings ? scalings->find(name.asString()) : nullptr;
  if (!rule)
    throw Error(name.location(), "E030",
                fmt::format("rotary scaling '{}' is not declared", name.asString()),
                {{circuit.location(), "the circuit declares them in 'rope_scalings'"}});
  const Json &known = catalog.vocabulary().at("words").at("frequency_scaling");
  for (const Json &word : rule->at("type").at("words").elements())
    if (!known.find(word.asString()))
      throw Error(word.location(), "E030",
                  fmt::format("'{}' is not a word of 'frequency_scaling'", word.asString()),
                  {{known.location(), "its words are declared here"}});
  RopeScaling scaling = readRopeScaling(*rule, model, parameters, dimensions, usedTensors);
  if (!computesRopeScaling(scaling.word))
    throw Error(
        rule->at("type").location(), "E030",
        fmt::format("the compiler has no formula for the rotary scaling '{}'", scaling.word));
  return scaling;
}

/// rn(1 / sqrt(n)), with the factor that a rotary scaling puts on the scores.
float Instantiation::scoreScaleOf(const Json &rule, const InstanceOp &op) {
  const Json &size = rule.at("reciprocal_sqrt");
  const int64_t n =
      requireRange(size, "the size under the root", parameters.integer(size), 1, INT32_MAX);
  const Json *name = rule.find("scaling");
  if (!name)
    return scoreScale(n, {});
  const Json &dimensions = rule.at("dimensions");
  const int64_t rotated = parameters.integer(dimensions);
  const RopeScaling scaling = scalingNamed(*name, rotated);
  if (scalesScores(scaling) && rotated != op.dimensions.at("head_dim"))
    throw Error({model.path()}, "E034",
                fmt::format("rotary scaling '{}' multiplies what it rotates, {} of the {} elements "
                            "of a head; this circuit computes only a factor of the whole score",
                            scaling.word, rotated, op.dimensions.at("head_dim")),
                {{rule.location(), "the circuit scales the scores here"}});
  return scoreScale(n, scaling);
}

void Instantiation::checkShape(const OperandRule &rule, const InstanceOp &op,
                               const InstanceWeight &weight) {
  std::vector<int64_t> expected;
  for (const std::string &dimension : rule.shape)
    if (dimension.ends_with("/2"))
      expected.push_back(op.dimensions.at(dimension.substr(0, dimension.size() - 2)) / 2);
    else
      expected.push_back(op.dimensions.at(dimension));
  if (weight.shape != expected)
    throw Error({model.path()}, "E033",
                fmt::format("tensor '{}' has shape {}, expected {} ({} of op '{}')", weight.tensor,
                            shapeText(weight.shape), shapeText(expected), rule.name, op.name),
                {{op.location, "the circuit uses it here"}});
}

void Instantiation::bindWeights(const Json &json, const Family &family, InstanceOp &op) {
  const Json *weights = json.find("weights");
  for (const OperandRule &rule : family.operands) {
    if (rule.kind != "weight")
      continue;
    const Json *weight = weights ? weights->find(rule.name) : nullptr;
    if (!weight && !rule.optional)
      throw Error(json.location(), "E030",
                  fmt::format("op '{}' has no weight '{}'; '{}' needs it", op.name, rule.name,
                              family.name));
    std::optional<InstanceWeight> bound =
        weight ? bindWeight(*weight, fmt::format("{} of '{}'", rule.name, op.name)) : std::nullopt;
    if (!bound)
      continue;
    if (!bound->constant.empty())
      bound->tensor = op.name + "." + rule.name;
    checkShape(rule, op, *bound);
    op.weights[rule.name] = std::move(*bound);
  }
  if (weights)
    for (const Json::Member &weight : weights->members())
      if (std::none_of(family.operands.begin(), family.operands.end(),
                       [&](const OperandRule &rule) {
                         return rule.kind == "weight" && rule.name == weight.key;
                       }))
        throw Error(weight.keyLocation, "E030",
                    fmt::format("'{}' is not a weight of '{}'", weight.key, family.name));
}

/// An attribute that only some profiles match: a word that none of them knew would be no fault.
void Instantiation::requireWord(const std::string &list, const std::string &word,
                                const Json &at) const {
  std::vector<std::string> known;
  for (const Json::Member &member : catalog.vocabulary().at("words").at(list).members())
    known.push_back(member.key);
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw Error(at.location(), "E030", fmt::format("'{}' is not a word of '{}'", word, list),
                {{{}, "it has: " + quotedList(known)}});
}

/// Dimensions, attributes and numbers: exactly those of the family, "rows" and optional ones apart.
void Instantiation::bindFields(const Json &json, const Family &family, InstanceOp &op) {
  auto each = [&](const char *field, const std::vector<std::string> &names, auto bind) {
    const Json *given = json.find(field);
    if (given)
      for (const Json::Member &member : given->members())
        if (std::find(names.begin(), names.end(), member.key) == names.end())
          throw Error(
              member.keyLocation, "E030",
              fmt::format("'{}' is not among the {} of '{}'", member.key, field, family.name),
              {{{}, "it has: " + quotedList(names)}});
    for (const std::string &name : names) {
      const Json *value = given ? given->find(name) : nullptr;
      if (value)
        bind(name, *value);
      else if (name != "rows" && !family.optionalNumbers.contains(name) &&
               !family.optionalAttributes.contains(name))
        throw Error(json.location(), "E030",
                    fmt::format("op '{}' does not give '{}' among its {}; '{}' needs it", op.name,
                                name, field, family.name));
    }
  };
  each("dimensions", family.dimensions, [&](const std::string &name, const Json &value) {
    op.dimensions[name] = parameters.integer(value);
  });
  each("attributes", family.attributes, [&](const std::string &name, const Json &value) {
    op.attributes[name] = parameters.expand(value);
    if (family.optionalAttributes.contains(name))
      requireWord(name, op.attributes[name], value);
  });
  each("numbers", family.numbers, [&](const std::string &name, const Json &value) {
    const double number = value.isObject() ? double(scoreScaleOf(value, op))
                                           : double(float(parameters.number(value)));
    if (!std::isfinite(number))
      throw Error(value.location(), "E033",
                  fmt::format("number '{}' of op '{}' is {}, expected a finite binary32 value",
                              name, op.name, number));
    op.numbers[name] = number;
  });
}

void Instantiation::bindState(const Json &json, const Family &family, InstanceOp &op) {
  const bool needs = std::any_of(family.operands.begin(), family.operands.end(),
                                 [](const OperandRule &rule) { return rule.kind == "state"; });
  const Json *state = json.find("state");
  if (needs != (state != nullptr))
    throw Error(
        json.location(), "E030",
        needs ? fmt::format("op '{}' names no KV group; '{}' needs a state", op.name, family.name)
              : fmt::format("op '{}' names a KV group; '{}' has no state", op.name, family.name));
  if (!state)
    return;
  const std::string name = parameters.expand(*state);
  auto it = std::find(groupNames.begin(), groupNames.end(), name);
  if (it == groupNames.end())
    throw Error(state->location(), "E030", fmt::format("KV group '{}' is not declared", name),
                {{circuit.at("kv_groups").location(), "groups are declared here"}});
  op.kvGroup = it - groupNames.begin();
  InstanceKvGroup &group = instance.kvGroups[op.kvGroup];
  // The op that writes opens the group's next layer; those that read after it use the same one.
  const bool writes = std::none_of(family.operands.begin(), family.operands.end(),
                                   [](const OperandRule &rule) { return rule.kind == "output"; });
  if (writes)
    ++group.layers;
  if (group.layers == 0)
    throw Error(
        state->location(), "E030",
        fmt::format("op '{}' reads KV group '{}' before anything is stored in it", op.name, name));
  op.kvLayer = group.layers - 1;
  if (op.dimensions.at("kv_heads") != group.kvHeads ||
      op.dimensions.at("head_dim") != group.headDim)
    throw Error(json.location(), "E030",
                fmt::format("op '{}' has {} KV heads of {}, but its group has {} of {}", op.name,
                            op.dimensions.at("kv_heads"), op.dimensions.at("head_dim"),
                            group.kvHeads, group.headDim));
  if (!writes && hasWindow(family, op) != (group.window > 0))
    throw Error(json.location(), "E030",
                group.window > 0
                    ? fmt::format("op '{}' has no windowed mask, but KV group '{}' has a window of "
                                  "{} positions",
                                  op.name, name, group.window)
                    : fmt::format("op '{}' has a windowed mask, but KV group '{}' has no window",
                                  op.name, name));
}

/// Whether the vocabulary says of one of the op's attributes that it is windowed.
bool Instantiation::hasWindow(const Family &family, const InstanceOp &op) const {
  const Json &fields = catalog.vocabulary().at("contract_fields").at(family.name);
  return std::any_of(op.attributes.begin(), op.attributes.end(), [&](const auto &attribute) {
    const Json *list = fields.find(attribute.first);
    const Json *words = list ? catalog.vocabulary().at("words").find(list->asString()) : nullptr;
    const Json *word = words ? words->find(attribute.second) : nullptr;
    const Json *windowed = word ? word->find("windowed") : nullptr;
    return windowed && windowed->asBool();
  });
}

void Instantiation::addOp(const Json &json, const std::string &kind, const std::string &prefix,
                          int64_t layer, std::vector<InstanceOp> &into) {
  parameters.setLayer(layer);
  if (const Json *when = json.find("when"); when && !parameters.holds(*when))
    return;
  const Family &family = familyOf(json);
  InstanceOp op;
  op.op = family.name;
  op.name = prefix + json.at("name").asString();
  op.kind = kind;
  op.layer = layer;
  op.location = json.at("op").location();
  if (opByName.contains(op.name))
    throw Error(json.at("name").location(), "E030", fmt::format("two ops are named '{}'", op.name));
  bindFields(json, family, op);
  bindInputs(json, family, prefix, op);
  bindWeights(json, family, op);
  bindState(json, family, op);
  const Json &contracts = json.at("required_contracts");
  for (const Json::Member &contract : contracts.members())
    if (std::find(family.phases.begin(), family.phases.end(), contract.key) == family.phases.end())
      throw Error(contract.keyLocation, "E030",
                  fmt::format("'{}' does not run in phase '{}'", family.name, contract.key));
  for (const std::string &phase : family.phases)
    op.contracts[phase] = contracts.at(phase).asString();
  opByName[op.name] = instance.ops.size();
  into.push_back(std::move(op));
}

void Instantiation::addSection(const Json &section) {
  const Json *repeat = section.find("repeat");
  const int64_t count = repeat ? requireRange(*repeat, "the number of layers",
                                              parameters.integer(*repeat), 0, kMostLayers)
                               : 1;
  const Json *prefix = section.find("prefix"), *carry = section.find("carry");
  auto opNamed = [&](const Json &name, const std::string &full) {
    if (!opByName.contains(full))
      throw Error(name.location(), "E030", fmt::format("no op is named '{}'", full));
    return full;
  };
  if (carry)
    for (const Json::Member &member : carry->members()) {
      const Json &initial = member.value.at("initial");
      carried[member.key] = opNamed(initial, initial.asString());
    }
  const LayerVariants variants(section);
  for (int64_t i = 0; i < count; ++i) {
    parameters.setLayer(repeat ? i : -1);
    std::string kind = section.at("kind").asString();
    if (const LayerVariant *variant = variants.choose(parameters, i)) {
      parameters.setWords(variant->words);
      kind += "_" + variant->id;
    }
    const std::string before = prefix ? parameters.expand(*prefix) : "";
    for (const Json &op : section.at("ops").elements())
      addOp(op, kind, before, repeat ? i : -1, instance.ops);
    if (carry)
      for (const Json::Member &member : carry->members()) {
        const Json &next = member.value.at("next");
        carried[member.key] = opNamed(next, before + next.asString());
      }
  }
  if (count > 0)
    variants.requireAllUsed(parameters.usedWords());
  parameters.setLayer(-1);
  parameters.setWords({});
}

void Instantiation::addKvGroups() {
  for (const Json &group : circuit.at("kv_groups").elements()) {
    groupNames.push_back(group.at("id").asString());
    auto size = [&](const char *field, const char *what, int64_t least, int64_t most) {
      const Json &value = group.at(field);
      return requireRange(value, what, parameters.integer(value), least, most);
    };
    const std::string &storage = group.at("storage").asString();
    instance.kvGroups.push_back({instance.kvStorage.empty() ? storage : instance.kvStorage, 0,
                                 size("kv_heads", "the number of KV heads", 1, kMostOfAHead),
                                 size("head_dim", "the size of a head", 1, kMostOfAHead),
                                 size("window", "the window", 0, INT32_MAX), group.location()});
  }
}

void Instantiation::checkTensorsUsed() const {
  const Json *unused = circuit.find("unused_tensors");
  for (const TensorInfo &tensor : model.tensors()) {
    if (usedTensors.contains(tensor.name))
      continue;
    if (unused && std::any_of(unused->elements().begin(), unused->elements().end(),
                              [&](const Json &name) { return name.asString() == tensor.name; }))
      continue;
    throw Error({model.path()}, "E031",
                fmt::format("tensor '{}' ({} {}) is used by no op of circuit '{}'", tensor.name,
                            tensor.storage->name, shapeText(tensor.shape),
                            circuit.at("id").asString()),
                {{{}, "a model that has it computes something else; add it to the circuit"}});
  }
}

void Instantiation::addChatTemplates() {
  if (const Json *templates = circuit.find("chat_templates"))
    for (const Json &name : templates->elements())
      instance.chatTemplates.push_back(
          readJsonFile(catalog.paths().circuits + "/chat/" + name.asString() + ".json"));
}

CircuitInstance Instantiation::run() {
  instance.circuit = circuit.at("id").asString();
  instance.circuitDigest = sha256Document(circuit);
  const MetadataValue *name = model.find("general.name");
  instance.name = name && name->asString() ? *name->asString() : "model";
  addKvGroups();
  for (const Json &section : circuit.at("sections").elements())
    addSection(section);
  for (const Json &op : circuit.at("host_ops").elements())
    addOp(op, "host", "", -1, instance.hostOps);
  const Json &result = circuit.at("result");
  if (!opByName.contains(result.asString()))
    throw Error(result.location(), "E030", fmt::format("no op is named '{}'", result.asString()));
  instance.result = result.asString();
  const Json &vocabulary = circuit.at("vocabulary"), &context = circuit.at("context_length");
  instance.vocabulary =
      requireRange(vocabulary, "the vocabulary", parameters.integer(vocabulary), 1, INT32_MAX);
  instance.contextLength =
      requireRange(context, "the context length", parameters.integer(context), 1, INT32_MAX);
  checkMetadata(circuit, model, parameters);
  checkTensorsUsed();
  parameters.requireAllUsed(circuit);
  for (const auto &[parameter, value] : parameters.values())
    if (const int64_t *integer = std::get_if<int64_t>(&value))
      instance.integers[parameter] = *integer;
    else
      instance.numbers[parameter] = std::get<double>(value);
  addChatTemplates();
  return std::move(instance);
}

} // namespace

std::set<std::string> givenNames(const InstanceOp &op) {
  std::set<std::string> names;
  const auto add = [&](const auto &entries) {
    for (const auto &[name, value] : entries)
      names.insert(name);
  };
  add(op.inputs);
  add(op.weights);
  add(op.numbers);
  return names;
}

const Json &findCircuit(const Catalog &catalog, const ModelFile &model) {
  std::vector<const Json *> fitting;
  for (const auto &[id, circuit] : catalog.circuits()) {
    const std::vector<Json::Member> &match = circuit.at("match").members();
    if (std::all_of(match.begin(), match.end(), [&](const Json::Member &member) {
          const MetadataValue *value = model.find(member.key);
          return value && value->asString() && *value->asString() == member.value.asString();
        }))
      fitting.push_back(&circuit);
  }
  if (fitting.size() == 1)
    return *fitting[0];
  std::vector<Note> notes;
  if (fitting.empty()) {
    const MetadataValue *architecture = model.find("general.architecture");
    std::vector<std::string> known;
    for (const auto &entry : catalog.circuits())
      known.push_back(entry.first);
    notes.push_back(
        {{},
         fmt::format("circuits: {}; a family is added by one circuit file", quotedList(known))});
    std::string message = "metadata key 'general.architecture' is missing; no circuit fits";
    if (architecture && architecture->asString())
      message =
          fmt::format("no circuit fits architecture '{}'", printable(*architecture->asString()));
    else if (architecture)
      message =
          fmt::format("metadata key 'general.architecture' is {}, not a string; no circuit fits",
                      architecture->type);
    throw Error({model.path()}, "E030", message, notes);
  }
  for (const Json *circuit : fitting)
    notes.push_back({circuit->at("match").location(), "this circuit fits"});
  throw Error({model.path()}, "E030",
              fmt::format("{} circuits fit the model; exactly one must", fitting.size()), notes);
}

CircuitInstance instantiate(const Catalog &catalog, const Json &circuit, const ModelFile &model,
                            const std::string &kvStorage) {
  return Instantiation(catalog, circuit, model, kvStorage).run();
}

} // namespace writ
