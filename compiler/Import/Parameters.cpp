//===- Parameters.cpp - a circuit's parameters for one model file ---------===//
#include "compiler/Import/Parameters.h"

#include "compiler/Support/EditDistance.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ {
namespace {

std::string text(const Value &value) {
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

std::string text(const MetadataValue &value) {
  if (const std::string *string = value.asString())
    return fmt::format("\"{}\"", *string);
  if (std::optional<bool> boolean = value.asBool())
    return *boolean ? "true" : "false";
  if (std::optional<int64_t> integer = value.asInteger())
    return fmt::format("{}", *integer);
  if (std::optional<double> number = value.asNumber())
    return fmt::format("{}", *number);
  return value.type;
}

double asDouble(const Value &value) {
  return std::visit([](auto number) { return double(number); }, value);
}

} // namespace

Parameters::Parameters(const Json &circuit, const ModelFile &model) {
  for (const Json::Member &member : circuit.at("parameters").members())
    table[member.key] = read(member.value, member.key, member.value, model);
  if (const Json *rules = circuit.find("rules"))
    for (const Json &rule : rules->elements())
      if (!holds(rule.at("require")))
        throw Error({model.path()}, "E034",
                    fmt::format("the model does not satisfy '{}': {}",
                                rule.at("require").asString(), rule.at("because").asString()),
                    {{rule.location(), "the circuit requires it here"}});
}

Value Parameters::read(const Json &at, const std::string &name, const Json &rule,
                       const ModelFile &model) {
  if (const Json *rows = rule.find("rows_of")) {
    const TensorInfo *tensor = model.findTensor(rows->asString());
    if (!tensor || tensor->shape.empty())
      throw Error({model.path()}, "E032",
                  fmt::format("tensor '{}' is missing; parameter '{}' is its number of rows",
                              rows->asString(), name),
                  {{at.location(), "the parameter is declared here"}});
    return tensor->shape.front();
  }
  if (const Json *value = rule.find("value"))
    return evaluateExpression(*value, lookup());
  const std::string &key = rule.at("key").asString();
  readKeys.insert(key);
  const MetadataValue *found = model.find(key);
  const bool isInteger = rule.at("type").asString() == "integer";
  Value value;
  if (!found) {
    const Json *fallback = rule.find("default");
    if (!fallback)
      throw Error({model.path()}, "E032",
                  fmt::format("metadata key '{}' is missing; parameter '{}' needs it", key, name),
                  {{at.location(), "the parameter is declared here"}});
    value = isInteger ? Value(evaluateInteger(*fallback, lookup()))
                      : Value(evaluateNumber(*fallback, lookup()));
  } else if (std::optional<int64_t> integer = found->asInteger(); isInteger && integer) {
    value = *integer;
  } else if (std::optional<double> number = found->asNumber(); !isInteger && number) {
    value = *number;
  } else {
    throw Error({model.path()}, "E033",
                fmt::format("metadata key '{}' is {} ({}), expected {}", key, found->type,
                            text(*found), isInteger ? "an integer" : "a number"),
                {{at.location(), "the parameter is declared here"}});
  }
  const Json *min = rule.find("min"), *max = rule.find("max");
  if ((min && !(asDouble(value) >= min->asNumber())) ||
      (max && !(asDouble(value) <= max->asNumber())))
    throw Error(
        {model.path()}, "E033",
        fmt::format("{} is {}, expected {}",
                    found ? fmt::format("metadata key '{}'", key)
                          : fmt::format("parameter '{}', by its default,", name),
                    text(value),
                    max ? fmt::format("{} to {}", min ? min->asNumber() : 0, max->asNumber())
                        : fmt::format("at least {}", min->asNumber())),
        {{at.location(), "the parameter is declared here"}});
  return value;
}

NameLookup Parameters::lookup() const {
  return [this](std::string_view name) -> std::optional<Value> {
    if (name == "layer" && layer >= 0)
      return layer;
    auto it = table.find(std::string(name));
    if (it == table.end())
      return std::nullopt;
    used.insert(it->first);
    return it->second;
  };
}

int64_t Parameters::integer(const Json &expression) const {
  return evaluateInteger(expression, lookup());
}

double Parameters::number(const Json &expression) const {
  return evaluateNumber(expression, lookup());
}

bool Parameters::holds(const Json &expression) const {
  return evaluateInteger(expression, lookup()) != 0;
}

std::string Parameters::expand(const Json &json) const {
  const std::string &text = json.asString();
  std::string result;
  for (size_t from = 0; from < text.size();) {
    const size_t open = text.find('{', from), close = text.find('}', open);
    result.append(text, from, std::min(open, text.size()) - from);
    if (close == std::string::npos) {
      if (open != std::string::npos)
        throw Error(json.location(), "E030", fmt::format("'{}' has '{{' without '}}'", text));
      break;
    }
    const std::string name = text.substr(open + 1, close - open - 1);
    auto word = words.find(name);
    if (name == "layer" && layer >= 0) {
      result += std::to_string(layer);
    } else if (word != words.end()) {
      wordsUsed.insert(name);
      result += word->second;
    } else {
      std::vector<std::string> known;
      if (layer >= 0)
        known.push_back("layer");
      for (const auto &entry : words)
        known.push_back(entry.first);
      throw Error(json.location(), "E030", fmt::format("'{{{}}}' stands for nothing here", name),
                  {{{},
                    known.empty() ? "only sections that repeat have such words"
                                  : "known are: " + quotedList(known)}});
    }
    from = close + 1;
  }
  return result;
}

void Parameters::requireAllUsed(const Json &circuit) const {
  for (const Json::Member &member : circuit.at("parameters").members())
    if (!used.contains(member.key))
      throw Error(
          member.keyLocation, "E035",
          fmt::format("parameter '{}' is used by nothing; remove it or use it", member.key));
}

void checkMetadata(const Json &circuit, const ModelFile &model, const Parameters &parameters) {
  const Json &rules = circuit.at("metadata");
  auto startsWithOneOf = [](const std::string &key, const Json &prefixes) {
    return std::any_of(prefixes.elements().begin(), prefixes.elements().end(),
                       [&](const Json &prefix) { return key.starts_with(prefix.asString()); });
  };
  for (const MetadataEntry &entry : model.metadata()) {
    if (parameters.keys().contains(entry.key))
      continue;
    if (const Json *fixed = rules.at("fixed").find(entry.key)) {
      bool fits;
      std::string expected;
      if (const Json *expression = fixed->find("equals")) {
        const double value = parameters.number(*expression);
        fits = entry.value.asNumber() == value;
        expected = fmt::format("{}", value);
      } else {
        const Json &constant = fixed->at("is");
        expected = constant.plain().dump();
        if (constant.isString())
          fits = entry.value.asString() && *entry.value.asString() == constant.asString();
        else if (constant.isNumber())
          fits = entry.value.asNumber() == constant.asNumber();
        else
          fits = entry.value.asBool() == constant.asBool();
      }
      if (!fits)
        throw Error({model.path()}, "E034",
                    fmt::format("metadata key '{}' is {}; this circuit computes only {}", entry.key,
                                text(entry.value), expected),
                    {{fixed->location(), "the circuit fixes the key here"}});
      continue;
    }
    if (startsWithOneOf(entry.key, rules.at("no_mathematics")))
      continue;
    throw Error({model.path()}, "E031",
                fmt::format("metadata key '{}' ({}) is not consumed by circuit '{}'; it may change "
                            "the mathematics",
                            entry.key, text(entry.value), circuit.at("id").asString()),
                {{rules.location(), startsWithOneOf(entry.key, rules.at("scope"))
                                        ? "keys of the architecture are consumed or fixed here"
                                        : "keys that carry no mathematics are listed here"}});
  }
}

} // namespace writ
