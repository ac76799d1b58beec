//===- FunctionChecker.cpp - faults of one function of functions.json -----===//
//
// A function is a straight line of steps: the checker reads it from top to bottom and knows which
// names have a value, of which kind, and which values somebody has read.
//
//===----------------------------------------------------------------------===//
#include "compiler/Resolve/FunctionChecker.h"

#include "compiler/Support/EditDistance.h"
#include "ir/Reference/Expression.h"
#include "ir/Reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <sstream>

namespace writ {
namespace {

using Node = reference::ExpressionNode;

enum class Kind { number, integer, unknown }; ///< unknown: a fault was reported

/// The operations that are written as calls: the kinds of their operands and of their result.
struct Operation {
  std::vector<Kind> operands;
  Kind result;
};
const std::map<std::string, Operation> &operations() {
  constexpr Kind number = Kind::number, integer = Kind::integer;
  static const std::map<std::string, Operation> known = {
      {"fma", {{number, number, number}, number}},
      {"rint", {{number}, number}},
      {"rn16", {{number}, number}},
      {"abs", {{number}, number}},
      {"scale", {{number, number}, number}},
      {"isnan", {{number}, integer}},
      {"int", {{number}, integer}},
      {"bits", {{number}, integer}},
      {"int32", {{integer}, integer}},
      {"float", {{integer}, number}}};
  return known;
}

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The names of functions that a formula over the reals may use.
const std::vector<std::string> &realFunctions() {
  static const std::vector<std::string> known = {"exp", "log",  "log1p", "sqrt", "sin",
                                                 "cos", "tanh", "erf",   "erfc", "abs"};
  return known;
}

struct Signature {
  std::string type, argument;
  std::vector<std::string> results;
};

/// "binary32 x -> binary32 y": the schema has accepted it.
Signature readSignature(const std::string &text) {
  std::istringstream words(text);
  Signature signature;
  std::string arrow, type, result;
  words >> signature.type >> signature.argument >> arrow;
  while (words >> type >> result) {
    if (result.back() == ',')
      result.pop_back();
    signature.results.push_back(result);
  }
  return signature;
}

class Checker {
public:
  Checker(const Json &function, const std::vector<std::string> &functions,
          std::vector<Diagnostic> &found)
      : json(function), name(function.at("name").asString()), functions(functions), found(found),
        signature(readSignature(function.at("signature").asString())) {}

  /// The functions that its steps call.
  std::vector<FunctionCall> check();

private:
  struct Value {
    Kind kind;
    Location location; ///< of the text that gave it
    bool isRead = false;
    const char *what;
  };

  void checkConstants();
  void checkSpecial(const Json &text);
  void checkStep(const Json &text);
  void checkResults();
  void checkExact();
  void checkFormula(const Node &node, const Json &text);
  void define(const std::string &target, Value value);
  Kind kindOf(const Node &node);
  Kind nameKind(const Node &node);
  Kind roundedKind(const Node &node);
  Kind callKind(const Node &node);
  void requireKind(const Node &node, Kind needed, const std::string &of);
  std::optional<reference::Expression> parse(const std::string &text);

  /// E306: it cannot be evaluated. E307: a part of it decides nothing.
  void refuse(const Location &at, std::string text, std::vector<Note> notes = {}) {
    found.push_back({at, "E306", std::move(text), std::move(notes)});
  }
  void idle(const Location &at, std::string text) {
    found.push_back({at, "E307", std::move(text), {}});
  }

  const Json &json;
  const std::string &name;
  const std::vector<std::string> &functions;
  std::vector<Diagnostic> &found;
  Signature signature;
  std::map<std::string, Value> values;
  Location here; ///< the text that is being read
  std::vector<FunctionCall> calls;
};

std::optional<reference::Expression> Checker::parse(const std::string &text) {
  try {
    return reference::Expression(text);
  } catch (const reference::ReferenceError &error) {
    refuse(here, fmt::format("function '{}': {}", name, error.what()));
    return std::nullopt;
  }
}

void Checker::checkConstants() {
  for (const Json::Member &constant : json.at("constants").members()) {
    const std::string &text = constant.value.asString();
    const bool isNumber = text.find('p') != std::string::npos;
    const double value = std::strtod(text.c_str(), nullptr);
    const bool isBinary32 = signature.type == "binary32";
    if (isNumber && (std::isinf(value) ||
                     (isBinary32 && static_cast<double>(static_cast<float>(value)) != value)))
      refuse(constant.value.location(),
             fmt::format("constant '{}' of '{}' is {}, which is not a {} value", constant.key, name,
                         text, signature.type));
    define(constant.key,
           {isNumber ? Kind::number : Kind::integer, constant.keyLocation, false, "constant"});
  }
}

/// A later value of a name replaces the earlier, which somebody has read.
void Checker::define(const std::string &target, Value value) {
  const auto earlier = values.find(target);
  if (earlier != values.end() && !earlier->second.isRead)
    idle(earlier->second.location,
         fmt::format("{} '{}' of '{}' is read by nothing", earlier->second.what, target, name));
  values.insert_or_assign(target, std::move(value));
}

Kind Checker::nameKind(const Node &node) {
  if (node.name == "inf" || node.name == "nan")
    return Kind::number;
  const auto value = values.find(node.name);
  if (value != values.end()) {
    value->second.isRead = true;
    return value->second.kind;
  }
  std::vector<std::string> known;
  for (const auto &[other, ignored] : values)
    known.push_back(other);
  const std::vector<std::string> nearest = nearestNames(node.name, known);
  refuse(here, fmt::format("function '{}' reads '{}', which has no value here", name, node.name),
         {{{},
           (nearest.empty() ? "names with a value: " : "nearest: ") +
               quotedList(nearest.empty() ? known : nearest)}});
  return Kind::unknown;
}

void Checker::requireKind(const Node &node, Kind needed, const std::string &of) {
  if (kindOf(node) == Kind::number && needed == Kind::integer)
    refuse(here, fmt::format("function '{}': '{}' needs an integer, but has a number", name, of));
}

/// rn(a + b): one rounding in the type of the function.
Kind Checker::roundedKind(const Node &node) {
  const std::string rounding = signature.type == "binary32" ? "rn" : "rn64";
  if (node.kind != rounding)
    refuse(here, fmt::format("function '{}' is one of {}: its roundings are '{}', not '{}'", name,
                             signature.type, rounding, node.kind));
  const std::vector<std::string> arithmetic = {"+", "-", "*", "/"};
  if (node.parts.size() != 1 || !has(arithmetic, node.parts[0]->kind)) {
    refuse(here, fmt::format("function '{}': '{}' stands around one of + - * / of numbers", name,
                             node.kind));
    return Kind::unknown;
  }
  for (const auto &operand : node.parts[0]->parts)
    kindOf(*operand);
  return Kind::number;
}

Kind Checker::callKind(const Node &node) {
  const auto operation = operations().find(node.kind);
  if (operation == operations().end() && !has(functions, node.kind)) {
    std::vector<std::string> known = functions;
    for (const auto &[other, ignored] : operations())
      known.push_back(other);
    const std::vector<std::string> nearest = nearestNames(node.kind, known);
    refuse(here,
           fmt::format("function '{}': '{}' is neither an operation of steps nor a function", name,
                       node.kind),
           {{{},
             (nearest.empty() ? "known: " : "nearest: ") +
                 quotedList(nearest.empty() ? known : nearest)}});
    return Kind::unknown;
  }
  const bool isCall = operation == operations().end();
  if (isCall)
    calls.emplace_back(node.kind, here);
  const std::vector<Kind> operands =
      isCall ? std::vector<Kind>{Kind::number} : operation->second.operands;
  if (node.parts.size() != operands.size())
    refuse(here, fmt::format("function '{}': '{}' has {} operands, it takes {}", name, node.kind,
                             node.parts.size(), operands.size()));
  for (size_t i = 0; i < node.parts.size(); ++i)
    requireKind(*node.parts[i], i < operands.size() ? operands[i] : Kind::number, node.kind);
  return isCall ? Kind::number : operation->second.result;
}

Kind Checker::kindOf(const Node &node) {
  if (node.kind == "constant")
    return node.constant.isInteger ? Kind::integer : Kind::number;
  if (node.kind == "name")
    return nameKind(node);
  if (node.kind == "rn" || node.kind == "rn64")
    return roundedKind(node);
  if (node.kind == "negate")
    return kindOf(*node.parts[0]);
  if (node.kind == "?:") {
    requireKind(*node.parts[0], Kind::integer, "?");
    const Kind yes = kindOf(*node.parts[1]), no = kindOf(*node.parts[2]);
    return yes == no ? yes : Kind::number;
  }
  const std::vector<std::string> comparisons = {"<", ">", "=="};
  if (has(comparisons, node.kind)) {
    kindOf(*node.parts[0]);
    kindOf(*node.parts[1]);
    return Kind::integer;
  }
  const std::vector<std::string> ofIntegers = {"||", "&", ">>", "+", "-", "*"};
  if (has(ofIntegers, node.kind)) {
    const bool rounds = node.kind == "+" || node.kind == "-" || node.kind == "*";
    for (const auto &part : node.parts)
      if (kindOf(*part) == Kind::number)
        refuse(here,
               rounds ? fmt::format("function '{}': '{}' of numbers stands in no rounding of its "
                                    "own",
                                    name, node.kind)
                      : fmt::format("function '{}': '{}' needs an integer, but has a number", name,
                                    node.kind));
    return Kind::integer;
  }
  if (node.kind == "/") {
    refuse(here,
           fmt::format("function '{}': '/' of numbers stands in no rounding of its own", name));
    return Kind::unknown;
  }
  return callKind(node);
}

void Checker::checkSpecial(const Json &json) {
  here = json.location();
  const std::string &text = json.asString();
  const size_t at = text.find(": ");
  const auto condition = parse(text.substr(0, at)), result = parse(text.substr(at + 2));
  if (condition)
    requireKind(condition->tree(), Kind::integer, "special case");
  if (result)
    kindOf(result->tree());
}

void Checker::checkStep(const Json &json) {
  here = json.location();
  const std::string &text = json.asString();
  const size_t at = text.find(" = ");
  const auto expression = parse(text.substr(at + 3));
  const Kind kind = expression ? kindOf(expression->tree()) : Kind::unknown;
  define(text.substr(0, at), {kind, here, false, "step"});
}

void Checker::checkResults() {
  for (const std::string &result : signature.results) {
    const auto value = values.find(result);
    if (value == values.end() || std::string_view(value->second.what) != "step")
      refuse(json.at("signature").location(),
             fmt::format("function '{}' has the result '{}', which no step gives", name, result));
    else
      value->second.isRead = true;
  }
  for (const auto &[target, value] : values)
    if (!value.isRead)
      idle(value.location,
           fmt::format("{} '{}' of '{}' is read by nothing", value.what, target, name));
}

void Checker::checkFormula(const Node &node, const Json &text) {
  const std::vector<std::string> operators = {"+", "-", "*", "/", "negate"};
  const bool isKnown = node.kind == "constant" ? node.constant.isInteger
                       : node.kind == "name"
                           ? node.name == "pi" || node.name == signature.argument
                           : has(operators, node.kind) ||
                                 (node.parts.size() == 1 && has(realFunctions(), node.kind));
  if (!isKnown)
    refuse(text.location(),
           fmt::format("function '{}': '{}' has no place in an exact formula: it is made of the "
                       "argument, integers, pi, + - * / and {}",
                       name,
                       node.kind == "name"       ? node.name
                       : node.kind == "constant" ? fmt::format("{}", node.constant.number)
                                                 : node.kind,
                       quotedList(realFunctions())));
  for (const auto &part : node.parts)
    checkFormula(*part, text);
}

void Checker::checkExact() {
  const std::vector<Json> &formulas = json.at("exact").elements();
  if (formulas.size() != signature.results.size())
    refuse(json.at("exact").location(),
           fmt::format("function '{}' has {} results, but {} exact formulas", name,
                       signature.results.size(), formulas.size()));
  for (const Json &formula : formulas) {
    here = formula.location();
    if (const auto expression = parse(formula.asString()))
      checkFormula(expression->tree(), formula);
  }
}

std::vector<FunctionCall> Checker::check() {
  checkConstants();
  define(signature.argument, {Kind::number, json.at("signature").location(), false, "argument"});
  for (const Json &text : json.at("special").elements())
    checkSpecial(text);
  for (const Json &text : json.at("steps").elements())
    checkStep(text);
  checkResults();
  checkExact();
  return calls;
}

} // namespace

std::vector<FunctionCall> checkFunction(const Json &function,
                                        const std::vector<std::string> &functions,
                                        std::vector<Diagnostic> &found) {
  return Checker(function, functions, found).check();
}

} // namespace writ
