//===- Function.cpp - elementary functions, step by step ------------------===//
#include "ir/Reference/Function.h"

#include "ir/Reference/Fields.h"

#include <sstream>

namespace writ::reference {
namespace {

const nlohmann::json &findFunction(const nlohmann::json &functions, const std::string &name) {
  for (const nlohmann::json &function : functions.at("functions"))
    if (function.at("name") == name)
      return function;
  throw ReferenceError("'" + name + "' is not a function of functions.json");
}

std::pair<std::string, std::string> splitAt(const std::string &text, const std::string &token) {
  const size_t place = text.find(token);
  if (place == std::string::npos)
    throw ReferenceError("'" + text + "' has no '" + token + "'");
  return {text.substr(0, place), text.substr(place + token.size())};
}

/// "binary32 x" to the type and the name.
std::pair<FloatType, std::string> readDeclaration(const std::string &text) {
  std::istringstream words(text);
  std::string type, name;
  words >> type >> name;
  if (type != "binary32" && type != "binary64")
    throw ReferenceError("'" + type + "' is not a type of functions.json");
  return {type == "binary32" ? FloatType::binary32 : FloatType::binary64, name};
}

Value readConstant(const std::string &text, FloatType type) {
  if (text.find('p') == std::string::npos) // a bit pattern
    return {true, static_cast<int64_t>(std::stoull(text, nullptr, 16)), 0};
  const double value = parseHexFloat(text);
  if (type == FloatType::binary32 && static_cast<double>(static_cast<float>(value)) != value)
    throw ReferenceError("constant " + text + " is not a binary32 value");
  return {false, 0, value};
}

} // namespace

Function::Function(const nlohmann::json &functions, const std::string &name) : name(name) {
  const nlohmann::json &json = findFunction(functions, name);
  readSignature(json.at("signature"));
  for (const auto &[key, text] : json.at("constants").items())
    constants[key] = readConstant(text, type);
  for (const std::string text : json.at("special")) {
    const auto [condition, result] = splitAt(text, ": ");
    specials.push_back({Expression(condition), Expression(result)});
  }
  for (const std::string text : json.at("steps")) {
    const auto [target, expression] = splitAt(text, " = ");
    steps.push_back({target, Expression(expression)});
    for (const nlohmann::json &other : functions.at("functions")) {
      const std::string called = other.at("name");
      if (called != name && expression.find(called + "(") != std::string::npos)
        others.emplace(called, std::make_shared<const Function>(functions, called));
    }
  }
}

void Function::readSignature(const std::string &signature) {
  const auto [from, to] = splitAt(signature, " -> ");
  std::tie(type, argument) = readDeclaration(from);
  std::istringstream declarations(to);
  for (std::string declaration; std::getline(declarations, declaration, ',');) {
    const auto [resultType, result] = readDeclaration(declaration);
    if (resultType != type)
      throw ReferenceError("'" + signature + "' mixes types");
    results.push_back(result);
  }
}

std::vector<double> Function::evaluate(double x) const {
  Variables variables = constants;
  variables[argument] = {false, 0, x};
  const OtherFunction other = [&](const std::string &called, double value) {
    auto found = others.find(called);
    if (found == others.end())
      throw ReferenceError("function '" + name + "' calls '" + called + "', which is not known");
    return found->second->evaluate(value).at(0);
  };
  for (const Special &special : specials)
    if (special.condition.evaluate(type, variables, other).integer != 0)
      return std::vector<double>(results.size(), asNumber(special.result, variables, other));
  for (const Step &step : steps)
    variables[step.name] = step.expression.evaluate(type, variables, other);
  std::vector<double> values;
  for (const std::string &result : results)
    values.push_back(variables.at(result).number);
  return values;
}

double Function::asNumber(const Expression &expression, const Variables &variables,
                          const OtherFunction &other) const {
  const Value value = expression.evaluate(type, variables, other);
  return value.isInteger ? static_cast<double>(value.integer) : value.number;
}

float Function::operator()(float x) const {
  if (!isOfBinary32())
    throw ReferenceError("function '" + name + "' is not one from binary32 to binary32");
  return static_cast<float>(evaluate(x)[0]);
}

static Function named(const Call &call, Fields &fields, const std::string &field) {
  const std::string &name = fields.word(field);
  try {
    return Function(*call.functions, name);
  } catch (const ReferenceError &error) {
    fields.fail(field, "field '" + field + "': " + error.what());
  }
}

Function readFunction(const Call &call, Fields &fields, const std::string &field) {
  Function function = named(call, fields, field);
  if (!function.isOfBinary32())
    fields.fail(field, "field '" + field + "' is '" + fields.word(field) +
                           "', which is no function from binary32 to binary32");
  return function;
}

Function readSineAndCosine(const Call &call, Fields &fields, const std::string &field) {
  Function function = named(call, fields, field);
  if (function.resultCount() != 2)
    fields.fail(field,
                "field '" + field + "' is '" + fields.word(field) + "', which has not two results");
  return function;
}

std::vector<double> evaluateFunction(const nlohmann::json &functions, const std::string &name,
                                     double argument) {
  return Function(functions, name).evaluate(argument);
}

} // namespace writ::reference
