//===- Expression.cpp - arithmetic in circuits ----------------------------===//
#include "compiler/Support/Expression.h"

#include "compiler/Support/Utf8.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace writ {

namespace {

bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isNamePart(char c) {
  return isNameStart(c) || isDigit(c);
}

/// Recursive descent that computes while it reads. Where `live` is false the operands are read and
/// checked, but nothing is computed.
class Evaluator {
public:
  Evaluator(const Json &source, const NameLookup &lookup)
      : source(source), text(source.asString()), lookup(lookup) {}

  Value run() {
    Value value = conditional(true);
    skipSpace();
    if (position != text.size())
      fail("E036", position, fmt::format("unexpected '{}'", printable(text.substr(position), 8)));
    return value;
  }

private:
  [[noreturn]] void fail(const char *code, size_t at, const std::string &problem) const {
    throw Error(source.location(), code,
                fmt::format("{} at column {} of '{}'", problem, at + 1, printable(text, 200)));
  }

  void skipSpace() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\t' ||
                                      text[position] == '\n' || text[position] == '\r'))
      ++position;
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (!text.substr(position).starts_with(token))
      return false;
    position += token.size();
    return true;
  }

  /// The first of `operators` that stands here, or "". Longer ones come first in the list.
  std::string_view acceptOneOf(std::initializer_list<std::string_view> operators) {
    for (std::string_view candidate : operators)
      if (accept(candidate))
        return candidate;
    return {};
  }

  void expect(std::string_view token) {
    if (!accept(token))
      fail("E036", position, fmt::format("expected '{}'", token));
  }

  bool truth(const Value &value, size_t at) const {
    if (const auto *integer = std::get_if<int64_t>(&value))
      return *integer != 0;
    fail("E039", at, fmt::format("number {} is no condition", std::get<double>(value)));
  }

  static Value boolean(bool value) { return int64_t{value}; }

  Value conditional(bool live) {
    constexpr int deepest = 64;
    skipSpace();
    size_t start = position;
    if (++depth > deepest)
      fail("E036", start, fmt::format("nested deeper than {} levels", deepest));
    Value condition = disjunction(live);
    if (accept("?")) {
      bool first = live && truth(condition, start);
      Value yes = conditional(first);
      expect(":");
      Value no = conditional(live && !first);
      condition = first ? yes : no;
    }
    --depth;
    return condition;
  }

  Value disjunction(bool live) {
    skipSpace();
    size_t start = position;
    Value left = conjunction(live);
    while (accept("||")) {
      bool known = live && truth(left, start);
      skipSpace();
      start = position;
      Value right = conjunction(live && !known);
      left = boolean(known || (live && truth(right, start)));
    }
    return left;
  }

  Value conjunction(bool live) {
    skipSpace();
    size_t start = position;
    Value left = comparison(live);
    while (accept("&&")) {
      bool open = live && truth(left, start);
      skipSpace();
      start = position;
      Value right = comparison(open);
      left = boolean(open && truth(right, start));
    }
    return left;
  }

  Value comparison(bool live) {
    Value left = sum(live);
    skipSpace();
    size_t at = position;
    std::string_view op = acceptOneOf({"<=", ">=", "==", "!=", "<", ">"});
    if (op.empty())
      return left;
    Value right = sum(live);
    if (!live)
      return int64_t{0};
    int order = compare(left, right, at);
    bool result = op == "<"    ? order < 0
                  : op == "<=" ? order <= 0
                  : op == ">"  ? order > 0
                  : op == ">=" ? order >= 0
                  : op == "==" ? order == 0
                               : order != 0;
    return boolean(result);
  }

  Value sum(bool live) {
    Value left = product(live);
    while (true) {
      skipSpace();
      size_t at = position;
      std::string_view op = acceptOneOf({"+", "-"});
      if (op.empty())
        return left;
      Value right = product(live);
      if (live)
        left = combine(left, op[0], right, at);
    }
  }

  Value product(bool live) {
    Value left = unary(live);
    while (true) {
      skipSpace();
      size_t at = position;
      std::string_view op = acceptOneOf({"*", "/", "%"});
      if (op.empty())
        return left;
      Value right = unary(live);
      if (live)
        left = combine(left, op[0], right, at);
    }
  }

  Value unary(bool live) {
    // Signs are gathered in a loop, so that a long row of them takes no stack.
    skipSpace();
    size_t start = position;
    while (acceptSign()) {
    }
    size_t end = position;
    Value value = primary(live);
    for (size_t i = end; live && i-- > start;) {
      if (text[i] == '!')
        value = boolean(!truth(value, i));
      else if (text[i] == '-')
        value = negate(value, i);
    }
    return live ? value : Value(int64_t{0});
  }

  bool acceptSign() {
    skipSpace();
    // "!=" cannot start an operand; leave it for the error at primary().
    if (text.substr(position).starts_with("!="))
      return false;
    return accept("-") || accept("!");
  }

  Value primary(bool live) {
    skipSpace();
    size_t start = position;
    if (accept("(")) {
      Value value = conditional(live);
      expect(")");
      return value;
    }
    if (start == text.size())
      fail("E036", start, "expected a value");
    if (isDigit(text[start]))
      return number();
    if (isNameStart(text[start]))
      return name();
    fail("E036", start,
         fmt::format("expected a value, got '{}'", printable(text.substr(start), 8)));
  }

  Value number() {
    size_t start = position;
    const char *first = text.data() + start, *last = text.data() + text.size();
    int64_t integer = 0;
    auto [end, error] = std::from_chars(first, last, integer);
    bool fraction = end != last && (*end == '.' || *end == 'e' || *end == 'E');
    Value value = integer;
    if (fraction) {
      double real = 0;
      auto result = std::from_chars(first, last, real);
      end = result.ptr;
      error = result.ec;
      value = real;
    }
    position = static_cast<size_t>(end - text.data());
    if (error != std::errc())
      fail("E039", start,
           fmt::format("number {} is out of range", text.substr(start, position - start)));
    if (position < text.size() && (isNamePart(text[position]) || text[position] == '.'))
      fail("E036", position, fmt::format("unexpected '{}'", text[position]));
    return value;
  }

  Value name() {
    size_t start = position;
    while (position < text.size() &&
           (isNamePart(text[position]) || (text[position] == '.' && position + 1 < text.size() &&
                                           isNamePart(text[position + 1]))))
      ++position;
    std::string_view word = text.substr(start, position - start);
    if (std::optional<Value> value = lookup(word))
      return *value;
    fail("E037", start, fmt::format("unknown name '{}'", word));
  }

  double real(const Value &value, size_t at) const {
    if (const auto *number = std::get_if<double>(&value))
      return *number;
    int64_t integer = std::get<int64_t>(value);
    constexpr int64_t largest = int64_t{1} << 53;
    if (integer > largest || integer < -largest)
      fail("E039", at, fmt::format("integer {} is no exact double", integer));
    return static_cast<double>(integer);
  }

  int compare(const Value &left, const Value &right, size_t at) const {
    const auto *a = std::get_if<int64_t>(&left), *b = std::get_if<int64_t>(&right);
    if (a && b)
      return *a < *b ? -1 : *a > *b;
    double x = real(left, at), y = real(right, at);
    return x < y ? -1 : x > y;
  }

  Value negate(const Value &value, size_t at) const {
    if (const auto *number = std::get_if<double>(&value))
      return -*number;
    return combine(int64_t{0}, '-', value, at);
  }

  Value combine(const Value &left, char op, const Value &right, size_t at) const {
    const auto *a = std::get_if<int64_t>(&left), *b = std::get_if<int64_t>(&right);
    if (a && b)
      return combineIntegers(*a, op, *b, at);
    double x = real(left, at), y = real(right, at);
    if (op == '%')
      fail("E039", at, fmt::format("'%' takes integers, got {} and {}", x, y));
    if (op == '/' && y == 0)
      fail("E038", at, fmt::format("division of {} by zero", x));
    double result = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y;
    if (!std::isfinite(result))
      fail("E039", at, fmt::format("{} {} {} is not finite", x, op, y));
    return result;
  }

  Value combineIntegers(int64_t a, char op, int64_t b, size_t at) const {
    int64_t result = 0;
    bool overflow = false;
    if (op == '+')
      overflow = __builtin_add_overflow(a, b, &result);
    else if (op == '-')
      overflow = __builtin_sub_overflow(a, b, &result);
    else if (op == '*')
      overflow = __builtin_mul_overflow(a, b, &result);
    else
      result = divide(a, op, b, at, overflow);
    if (overflow)
      fail("E039", at, fmt::format("{} {} {} overflows 64 bits", a, op, b));
    return result;
  }

  int64_t divide(int64_t a, char op, int64_t b, size_t at, bool &overflow) const {
    if (b == 0)
      fail("E038", at, fmt::format("division of {} by zero", a));
    if (op == '%') {
      if (a < 0 || b < 0)
        fail("E039", at, fmt::format("'%' takes no negative integers, got {} and {}", a, b));
      return a % b;
    }
    if (b == -1) { // the one quotient that overflows, -2^63 / -1, traps
      int64_t result = 0;
      overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
      return result;
    }
    if (a % b != 0)
      fail("E038", at, fmt::format("{} / {} leaves a remainder of {}", a, b, a % b));
    return a / b;
  }

  const Json &source;
  std::string_view text;
  const NameLookup &lookup;
  size_t position = 0;
  int depth = 0;
};

} // namespace

Value evaluateExpression(const Json &stringOrNumber, const NameLookup &lookup) {
  if (stringOrNumber.isInteger())
    return stringOrNumber.asInteger();
  if (stringOrNumber.isNumber())
    return stringOrNumber.asNumber();
  if (!stringOrNumber.isString())
    throw Error(stringOrNumber.location(), "E013",
                fmt::format("expected number or expression, got {}", describe(stringOrNumber)));
  return Evaluator(stringOrNumber, lookup).run();
}

int64_t evaluateInteger(const Json &stringOrNumber, const NameLookup &lookup) {
  Value value = evaluateExpression(stringOrNumber, lookup);
  if (const auto *integer = std::get_if<int64_t>(&value))
    return *integer;
  throw Error(stringOrNumber.location(), "E039",
              fmt::format("expected an integer, got {}", std::get<double>(value)));
}

double evaluateNumber(const Json &stringOrNumber, const NameLookup &lookup) {
  Value value = evaluateExpression(stringOrNumber, lookup);
  if (const auto *number = std::get_if<double>(&value))
    return *number;
  int64_t integer = std::get<int64_t>(value);
  constexpr int64_t largest = int64_t{1} << 53;
  if (integer > largest || integer < -largest)
    throw Error(stringOrNumber.location(), "E039",
                fmt::format("integer {} is no exact double", integer));
  return static_cast<double>(integer);
}

} // namespace writ
