//===- StepArrays.cpp - the steps of functions.json over arrays -----------===//
#include "tests/functions/StepArrays.h"

#include "runtime/kernels/cpu/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace writ::test {
namespace {

constexpr size_t kBlock = StepArrays::kBlock;

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error("functions.json: " + what);
}

std::pair<std::string, std::string> splitAt(const std::string &text, const std::string &token) {
  const size_t at = text.find(token);
  if (at == std::string::npos)
    fail("'" + text + "' has no '" + token + "'");
  return {text.substr(0, at), text.substr(at + token.size())};
}

std::shared_ptr<StepArray> numbers() {
  auto array = std::make_shared<StepArray>();
  array->number.resize(kBlock);
  return array;
}
std::shared_ptr<StepArray> integers() {
  auto array = std::make_shared<StepArray>();
  array->integer.resize(kBlock);
  return array;
}

std::shared_ptr<const StepArray> asNumber(const std::shared_ptr<const StepArray> &array) {
  if (!array->isInteger())
    return array;
  auto result = numbers();
  for (size_t i = 0; i < kBlock; ++i)
    result->number[i] = static_cast<float>(array->integer[i]);
  return result;
}

const std::vector<int64_t> &asInteger(const std::shared_ptr<const StepArray> &array) {
  if (!array->isInteger())
    fail("a step needs an integer, but has a number");
  return array->integer;
}

template <typename Function> auto mapNumbers(const StepArray &a, Function function) {
  auto result = numbers();
  const float *x = a.number.data();
  float *y = result->number.data();
  for (size_t i = 0; i < kBlock; ++i)
    y[i] = function(x[i]);
  return result;
}

template <typename Function>
auto mapNumbers(const StepArray &a, const StepArray &b, Function function) {
  auto result = numbers();
  const float *x = a.number.data(), *z = b.number.data();
  float *y = result->number.data();
  for (size_t i = 0; i < kBlock; ++i)
    y[i] = function(x[i], z[i]);
  return result;
}

template <typename T, typename Function>
auto toIntegers(const std::vector<T> &a, const std::vector<T> &b, Function function) {
  auto result = integers();
  for (size_t i = 0; i < kBlock; ++i)
    result->integer[i] = function(a[i], b[i]);
  return result;
}

/// p * 2^n with one rounding: binary64 holds the product of a binary32 exactly for these n.
float scaled(float p, float n) {
  const auto exponent = static_cast<int64_t>(std::clamp(n, -800.0f, 800.0f));
  return static_cast<float>(static_cast<double>(p) *
                            std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52));
}

/// Outside of the 64-bit integers, where a special case decides, any value.
int64_t integerOf(float x) {
  return static_cast<int64_t>(std::clamp(x, -0x1p62f, 0x1p62f));
}

} // namespace

const nlohmann::json &functionNamed(const nlohmann::json &functions, const std::string &name) {
  for (const nlohmann::json &function : functions.at("functions"))
    if (function.at("name") == name)
      return function;
  fail("there is no function '" + name + "'");
}

bool StepArrays::isBinary32(const nlohmann::json &function) {
  const std::string signature = function.at("signature");
  return signature.find("binary64") == std::string::npos &&
         signature.find(',') == std::string::npos;
}

bool StepArrays::isSwept(const nlohmann::json &function) {
  return isBinary32(function) && function.at("steps").dump().find("rn16(") == std::string::npos;
}

StepArrays::StepArrays(const nlohmann::json &functions, const std::string &name) {
  const nlohmann::json &json = functionNamed(functions, name);
  if (!isBinary32(json))
    fail("'" + name + "' is not one from binary32 to binary32");
  const auto [from, to] = splitAt(json.at("signature"), " -> ");
  argument = splitAt(from, " ").second;
  result = splitAt(to, " ").second;
  for (const auto &[key, text] : json.at("constants").items()) {
    const reference::Expression expression(text.get<std::string>());
    constants[key] = evaluate(expression.tree());
    literals.clear(); // by nodes that are gone
  }
  for (const std::string text : json.at("special")) {
    const auto [condition, value] = splitAt(text, ": ");
    specials.push_back({reference::Expression(condition), reference::Expression(value)});
  }
  for (const std::string text : json.at("steps")) {
    const auto [target, expression] = splitAt(text, " = ");
    steps.push_back({target, reference::Expression(expression)});
    for (const nlohmann::json &other : functions.at("functions")) {
      const std::string called = other.at("name");
      if (called != name && expression.find(called + "(") != std::string::npos)
        others[called] = std::make_unique<StepArrays>(functions, called);
    }
  }
}

StepArrays::Array StepArrays::uniform(const reference::Value &value) const {
  auto array = value.isInteger ? integers() : numbers();
  std::fill(array->integer.begin(), array->integer.end(), value.integer);
  std::fill(array->number.begin(), array->number.end(), static_cast<float>(value.number));
  return array;
}

StepArrays::Array StepArrays::constant(const Node &node) {
  Array &known = literals[&node];
  if (!known)
    known = uniform(node.constant);
  return known;
}

void StepArrays::evaluate(std::span<const float> x, std::span<float> out) {
  auto given = numbers();
  std::copy(x.begin(), x.end(), given->number.begin());
  variables = constants;
  variables[argument] = given;
  for (const Named &step : steps)
    variables[step.name] = evaluate(step.expression.tree());
  std::vector<float> values = asNumber(variables.at(result))->number;
  // The first special case that holds decides, so the last is put in first.
  variables[argument] = given;
  for (auto special = specials.rbegin(); special != specials.rend(); ++special) {
    const Array holds = evaluate(special->condition.tree());
    const Array value = asNumber(evaluate(special->result.tree()));
    for (size_t i = 0; i < kBlock; ++i)
      values[i] = holds->integer[i] ? value->number[i] : values[i];
  }
  std::copy_n(values.begin(), out.size(), out.begin());
}

StepArrays::Array StepArrays::evaluate(const Node &node) {
  if (node.kind == "constant")
    return constant(node);
  if (node.kind == "name") {
    if (node.name == "inf" || node.name == "nan") {
      Array &known = literals[&node];
      if (!known)
        known = uniform({false, 0,
                         node.name == "inf" ? std::numeric_limits<double>::infinity()
                                            : std::numeric_limits<double>::quiet_NaN()});
      return known;
    }
    auto found = variables.find(node.name);
    if (found == variables.end())
      fail("a step uses '" + node.name + "', which has no value");
    return found->second;
  }
  if (node.kind == "rn") { // around one operation of numbers
    const Node &operation = *node.parts.at(0);
    const Array a = asNumber(evaluate(*operation.parts.at(0)));
    const Array b = asNumber(evaluate(*operation.parts.at(1)));
    if (operation.kind == "+")
      return mapNumbers(*a, *b, [](float p, float q) { return p + q; });
    if (operation.kind == "-")
      return mapNumbers(*a, *b, [](float p, float q) { return p - q; });
    if (operation.kind == "*")
      return mapNumbers(*a, *b, [](float p, float q) { return p * q; });
    if (operation.kind == "/")
      return mapNumbers(*a, *b, [](float p, float q) { return p / q; });
    fail("'" + operation.kind + "' is not an operation that is rounded");
  }
  std::vector<Array> values;
  for (const auto &part : node.parts)
    values.push_back(evaluate(*part));
  return apply(node, values);
}

StepArrays::Array StepArrays::apply(const Node &node, const std::vector<Array> &v) {
  const std::string &kind = node.kind;
  if (kind == "?:") {
    const std::vector<int64_t> &holds = asInteger(v.at(0));
    if (v.at(1)->isInteger() && v.at(2)->isInteger()) {
      auto chosen = integers();
      for (size_t i = 0; i < kBlock; ++i)
        chosen->integer[i] = holds[i] ? v[1]->integer[i] : v[2]->integer[i];
      return chosen;
    }
    const Array yes = asNumber(v[1]), no = asNumber(v[2]);
    auto chosen = numbers();
    for (size_t i = 0; i < kBlock; ++i)
      chosen->number[i] = holds[i] ? yes->number[i] : no->number[i];
    return chosen;
  }
  if (kind == "fma" && v.size() == 3) {
    const Array a = asNumber(v[0]), b = asNumber(v[1]), c = asNumber(v[2]);
    auto sum = numbers();
    const float *x = a->number.data(), *y = b->number.data(), *z = c->number.data();
    float *s = sum->number.data();
    for (size_t i = 0; i < kBlock; ++i)
      s[i] = __builtin_fmaf(x[i], y[i], z[i]);
    return sum;
  }
  if (v.size() == 1) {
    if (kind == "negate" && v[0]->isInteger())
      return toIntegers(v[0]->integer, v[0]->integer, [](int64_t a, int64_t) { return -a; });
    if (kind == "int32")
      return toIntegers(asInteger(v[0]), v[0]->integer, [](int64_t a, int64_t) {
        return static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(a)));
      });
    if (kind == "float") {
      auto value = numbers();
      const std::vector<int64_t> &bits = asInteger(v[0]);
      for (size_t i = 0; i < kBlock; ++i)
        value->number[i] = std::bit_cast<float>(static_cast<uint32_t>(bits[i]));
      return value;
    }
    const Array x = asNumber(v[0]);
    if (kind == "negate")
      return mapNumbers(*x, [](float a) { return -a; });
    if (kind == "abs")
      return mapNumbers(*x, [](float a) { return std::fabs(a); });
    if (kind == "rint")
      return mapNumbers(*x, [](float a) { return __builtin_rintf(a); });
    if (kind == "rn16")
      return mapNumbers(*x, [](float a) { return floatFromHalf(halfFromFloat(a)); });
    if (kind == "isnan")
      return toIntegers(x->number, x->number, [](float a, float) { return int64_t(a != a); });
    if (kind == "int")
      return toIntegers(x->number, x->number, [](float a, float) { return integerOf(a); });
    if (kind == "bits")
      return toIntegers(x->number, x->number,
                        [](float a, float) { return int64_t(std::bit_cast<uint32_t>(a)); });
    auto other = others.find(kind);
    if (other == others.end())
      fail("'" + kind + "' is not known");
    auto value = numbers();
    other->second->evaluate(x->number, value->number);
    return value;
  }
  if (v.size() != 2)
    fail("'" + kind + "' is not known");
  if (v[0]->isInteger() && v[1]->isInteger() && kind != "scale") {
    const std::vector<int64_t> &a = v[0]->integer, &b = v[1]->integer;
    if (kind == "||")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return int64_t(p || q); });
    if (kind == "&")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return p & q; });
    if (kind == ">>")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return p >> q; });
    if (kind == "+")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return p + q; });
    if (kind == "-")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return p - q; });
    if (kind == "*")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return p * q; });
    if (kind == "==")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return int64_t(p == q); });
    if (kind == "<")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return int64_t(p < q); });
    if (kind == ">")
      return toIntegers(a, b, [](int64_t p, int64_t q) { return int64_t(p > q); });
  }
  const Array a = asNumber(v[0]), b = asNumber(v[1]);
  if (kind == "scale")
    return mapNumbers(*a, *b, [](float p, float n) { return scaled(p, n); });
  if (kind == "==")
    return toIntegers(a->number, b->number, [](float p, float q) { return int64_t(p == q); });
  if (kind == "<")
    return toIntegers(a->number, b->number, [](float p, float q) { return int64_t(p < q); });
  if (kind == ">")
    return toIntegers(a->number, b->number, [](float p, float q) { return int64_t(p > q); });
  fail("'" + kind + "' is not known");
}

} // namespace writ::test
