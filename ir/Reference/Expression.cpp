//===- Expression.cpp - the step language of functions.json ---------------===//
#include "ir/Reference/Expression.h"

#include "ir/Reference/Fields.h"
#include "ir/Reference/Scalar.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace writ::reference {
namespace {

using Node = ExpressionNode;
using NodePtr = std::unique_ptr<Node>;

class Parser {
public:
  explicit Parser(std::string_view text) : text(text), rest(text) {}

  NodePtr parse() {
    NodePtr node = conditional();
    space();
    if (!rest.empty())
      fail();
    return node;
  }

private:
  [[noreturn]] void fail() const {
    throw ReferenceError("step '" + std::string(text) + "' cannot be read at '" +
                         std::string(rest) + "'");
  }

  void space() {
    while (rest.starts_with(' '))
      rest.remove_prefix(1);
  }

  bool take(std::string_view token) {
    space();
    if (!rest.starts_with(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token))
      fail();
  }

  template <typename... Parts> static NodePtr make(std::string kind, Parts... parts) {
    auto node = std::make_unique<Node>();
    node->kind = std::move(kind);
    (node->parts.push_back(std::move(parts)), ...);
    return node;
  }

  NodePtr conditional() {
    NodePtr condition = chain(0);
    if (!take("?"))
      return condition;
    NodePtr yes = conditional();
    expect(":");
    return make("?:", std::move(condition), std::move(yes), conditional());
  }

  /// The binary operators, loosest first; all associate to the left.
  NodePtr chain(size_t level) {
    static const std::vector<std::vector<std::string>> levels = {
        {"||"}, {"=="}, {"<", ">"}, {"&"}, {">>"}, {"+", "-"}, {"*", "/"}};
    if (level == levels.size())
      return unary();
    NodePtr left = chain(level + 1);
    for (bool found = true; found;) {
      found = false;
      for (const std::string &token : levels[level]) {
        space();
        if (token == ">" && rest.starts_with(">>"))
          continue;
        if (take(token)) {
          left = make(token, std::move(left), chain(level + 1));
          found = true;
          break;
        }
      }
    }
    return left;
  }

  NodePtr unary() {
    if (take("-"))
      return make("negate", unary());
    if (take("(")) {
      NodePtr node = conditional();
      expect(")");
      return node;
    }
    space();
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9')
      return constant();
    return name();
  }

  std::string_view word() {
    size_t length = 0;
    auto isPart = [&](char c) {
      const bool exponentSign =
          (c == '+' || c == '-') && length > 0 && rest[length - 1] == 'p' && rest.starts_with("0x");
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             c == '_' || c == '.' || exponentSign;
    };
    while (length < rest.size() && isPart(rest[length]))
      ++length;
    if (length == 0)
      fail();
    std::string_view found = rest.substr(0, length);
    rest.remove_prefix(length);
    return found;
  }

  NodePtr constant() {
    NodePtr node = make("constant");
    node->constant = parseConstant(word());
    return node;
  }

  NodePtr name() {
    const std::string found(word());
    if (take("(")) {
      NodePtr node = make(found);
      do
        node->parts.push_back(conditional());
      while (take(","));
      expect(")");
      return node;
    }
    NodePtr node = make("name");
    node->name = found;
    return node;
  }

  static Value parseConstant(std::string_view digits);

  std::string_view text, rest;
};

Value Parser::parseConstant(std::string_view digits) {
  Value value;
  const bool hex = digits.starts_with("0x");
  if (hex && digits.find('p') != digits.npos) {
    value.number = parseHexFloat(digits);
    return value;
  }
  const char *begin = digits.data() + (hex ? 2 : 0), *end = digits.data() + digits.size();
  value.isInteger = digits.find('.') == digits.npos;
  const auto result = value.isInteger ? std::from_chars(begin, end, value.integer, hex ? 16 : 10)
                                      : std::from_chars(begin, end, value.number);
  if (result.ec != std::errc() || result.ptr != end)
    throw ReferenceError("'" + std::string(digits) + "' is not a number");
  return value;
}

/// Evaluates a tree in one floating-point type.
class Evaluator {
public:
  Evaluator(FloatType type, const Variables &variables, const OtherFunction &other)
      : type(type), variables(variables), other(other) {}

  Value evaluate(const Node &node) const {
    if (node.kind == "constant")
      return node.constant;
    if (node.kind == "name")
      return named(node.name);
    if (node.kind == "?:")
      return evaluate(*node.parts[truth(evaluate(*node.parts[0])) ? 1 : 2]);
    if (node.kind == "||") // both sides are evaluated; neither has an effect
      return integer(truth(evaluate(*node.parts[0])) || truth(evaluate(*node.parts[1])));
    if (node.kind == "rn" || node.kind == "rn64")
      return rounded(node);
    std::vector<Value> values;
    for (const NodePtr &part : node.parts)
      values.push_back(evaluate(*part));
    return apply(node.kind, values);
  }

private:
  static Value integer(int64_t i) { return {true, i, 0}; }
  static Value number(double x) { return {false, 0, x}; }
  static double asNumber(const Value &value) {
    return value.isInteger ? static_cast<double>(value.integer) : value.number;
  }
  static int64_t asInteger(const Value &value) {
    if (!value.isInteger)
      throw ReferenceError("a step needs an integer, but has a number");
    return value.integer;
  }
  static bool truth(const Value &value) { return asInteger(value) != 0; }

  Value named(const std::string &name) const {
    if (name == "inf")
      return number(std::numeric_limits<double>::infinity());
    if (name == "nan")
      return number(std::numeric_limits<double>::quiet_NaN());
    auto found = variables.find(name);
    if (found == variables.end())
      throw ReferenceError("a step uses '" + name + "', which has no value");
    return found->second;
  }

  /// rn(a + b): one operation of the function's type.
  Value rounded(const Node &node) const {
    if ((node.kind == "rn") != (type == FloatType::binary32) || node.parts.size() != 1)
      throw ReferenceError("'" + node.kind + "' does not round to the function's type");
    const Node &operation = *node.parts[0];
    if (operation.parts.size() != 2)
      throw ReferenceError("'" + node.kind + "' stands around one operation");
    const double a = asNumber(evaluate(*operation.parts[0]));
    const double b = asNumber(evaluate(*operation.parts[1]));
    if (type == FloatType::binary32)
      return number(arithmetic(operation.kind, static_cast<float>(a), static_cast<float>(b)));
    return number(arithmetic(operation.kind, a, b));
  }

  template <typename T> static T arithmetic(const std::string &kind, T a, T b) {
    if (kind == "+")
      return a + b;
    if (kind == "-")
      return a - b;
    if (kind == "*")
      return a * b;
    if (kind == "/")
      return a / b;
    throw ReferenceError("'" + kind + "' is not an operation that is rounded");
  }

  Value apply(const std::string &kind, const std::vector<Value> &v) const {
    if (v.size() == 1)
      return applyOne(kind, v[0]);
    if (kind == "fma" && v.size() == 3) {
      const double a = asNumber(v[0]), b = asNumber(v[1]), c = asNumber(v[2]);
      if (type == FloatType::binary64)
        return number(std::fma(a, b, c));
      return number(std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
    }
    if (v.size() != 2)
      throw ReferenceError("'" + kind + "' is not known to the reference");
    if (kind == "<")
      return integer(asNumber(v[0]) < asNumber(v[1]));
    if (kind == ">")
      return integer(asNumber(v[0]) > asNumber(v[1]));
    if (kind == "==")
      return integer(asNumber(v[0]) == asNumber(v[1]));
    if (kind == "scale")
      return scale(asNumber(v[0]), static_cast<int64_t>(asNumber(v[1])));
    if (kind == "&")
      return integer(asInteger(v[0]) & asInteger(v[1]));
    if (kind == ">>")
      return integer(asInteger(v[0]) >> asInteger(v[1]));
    if (kind == "+" || kind == "-" || kind == "*")
      return integer(arithmetic(kind, asInteger(v[0]), asInteger(v[1])));
    throw ReferenceError("'" + kind + "' is not known to the reference");
  }

  Value applyOne(const std::string &kind, const Value &v) const {
    if (kind == "negate")
      return v.isInteger ? integer(-v.integer) : number(-v.number);
    if (kind == "isnan")
      return integer(asNumber(v) != asNumber(v));
    if (kind == "abs")
      return number(std::fabs(asNumber(v)));
    if (kind == "rint")
      return number(std::rint(asNumber(v)));
    if (kind == "int")
      return integer(static_cast<int64_t>(asNumber(v)));
    if (kind == "int32")
      return integer(static_cast<int32_t>(static_cast<uint32_t>(asInteger(v))));
    if (kind == "bits")
      return integer(std::bit_cast<uint32_t>(static_cast<float>(asNumber(v))));
    if (kind == "float")
      return number(std::bit_cast<float>(static_cast<uint32_t>(asInteger(v))));
    if (kind == "rn16")
      return number(reference::rounded(Rounding::binary16, static_cast<float>(asNumber(v))));
    return number(other(kind, asNumber(v)));
  }

  /// p * 2^n, rounded once. Binary64 holds the product of a binary32 p exactly for |n| < 800.
  Value scale(double p, int64_t n) const {
    if (type != FloatType::binary32 || n < -800 || n > 800)
      throw ReferenceError("'scale' is defined for binary32 and |n| <= 800");
    double product = p;
    for (; n > 0; --n)
      product *= 2;
    for (; n < 0; ++n)
      product /= 2;
    return number(static_cast<float>(product));
  }

  FloatType type;
  const Variables &variables;
  const OtherFunction &other;
};

} // namespace

Expression::Expression(std::string_view text) : root(Parser(text).parse()) {}

Value Expression::evaluate(FloatType type, const Variables &variables,
                           const OtherFunction &other) const {
  return Evaluator(type, variables, other).evaluate(*root);
}

} // namespace writ::reference
