//===- ExactFunction.cpp - what a function of functions.json approximates -===//
#include "tests/functions/ExactFunction.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace writ::test {
namespace {

using Node = reference::ExpressionNode;

/// A block of estimates, one loop for each operation.
struct Estimates {
  std::vector<double> values;

  template <typename Function> static Estimates map(Estimates a, Function function) {
    for (double &value : a.values)
      value = function(value);
    return a;
  }
  template <typename Function>
  static Estimates join(Estimates a, const Estimates &b, Function function) {
    for (size_t i = 0; i < a.values.size(); ++i)
      a.values[i] = function(a.values[i], b.values[i]);
    return a;
  }
  friend Estimates operator+(Estimates a, const Estimates &b) {
    return join(std::move(a), b, [](double p, double q) { return p + q; });
  }
  friend Estimates operator-(Estimates a, const Estimates &b) {
    return join(std::move(a), b, [](double p, double q) { return p - q; });
  }
  friend Estimates operator*(Estimates a, const Estimates &b) {
    return join(std::move(a), b, [](double p, double q) { return p * q; });
  }
  friend Estimates operator/(Estimates a, const Estimates &b) {
    return join(std::move(a), b, [](double p, double q) { return p / q; });
  }
  Estimates operator-() const {
    return map(*this, [](double p) { return -p; });
  }
#define WRIT_ESTIMATE(name)                                                                        \
  friend Estimates name(Estimates a) {                                                             \
    return map(std::move(a), [](double p) { return std::name(p); });                               \
  }
  WRIT_ESTIMATE(exp)
  WRIT_ESTIMATE(abs)
  WRIT_ESTIMATE(log)
  WRIT_ESTIMATE(log1p)
  WRIT_ESTIMATE(sqrt)
  WRIT_ESTIMATE(sin)
  WRIT_ESTIMATE(cos)
  WRIT_ESTIMATE(tanh)
  WRIT_ESTIMATE(erf)
  WRIT_ESTIMATE(erfc)
#undef WRIT_ESTIMATE
};

/// The formula in numbers of any kind; `number` makes one of an integer, `pi` is its pi.
template <typename Number, typename Make>
Number evaluate(const Node &node, const std::string &argument, const Number &x, const Make &number,
                const Number &pi) {
  const auto part = [&](size_t i) { return evaluate(*node.parts.at(i), argument, x, number, pi); };
  if (node.kind == "constant" && node.constant.isInteger)
    return number(static_cast<double>(node.constant.integer));
  if (node.kind == "name" && node.name == argument)
    return x;
  if (node.kind == "name" && node.name == "pi")
    return pi;
  if (node.kind == "negate")
    return -part(0);
  if (node.parts.size() == 2) {
    if (node.kind == "+")
      return part(0) + part(1);
    if (node.kind == "-")
      return part(0) - part(1);
    if (node.kind == "*")
      return part(0) * part(1);
    if (node.kind == "/")
      return part(0) / part(1);
  }
  if (node.parts.size() == 1) {
    if (node.kind == "exp")
      return exp(part(0));
    if (node.kind == "log")
      return log(part(0));
    if (node.kind == "log1p")
      return log1p(part(0));
    if (node.kind == "abs")
      return abs(part(0));
    if (node.kind == "sqrt")
      return sqrt(part(0));
    if (node.kind == "sin")
      return sin(part(0));
    if (node.kind == "cos")
      return cos(part(0));
    if (node.kind == "tanh")
      return tanh(part(0));
    if (node.kind == "erf")
      return erf(part(0));
    if (node.kind == "erfc")
      return erfc(part(0));
  }
  throw std::runtime_error("'" + (node.name.empty() ? node.kind : node.name) +
                           "' is not known in an exact formula");
}

std::string argumentOf(const nlohmann::json &function) {
  const std::string signature = function.at("signature"); // "binary32 x -> binary32 y"
  const size_t at = signature.find(' ') + 1;
  return signature.substr(at, signature.find(' ', at) - at);
}

} // namespace

ExactFunction::ExactFunction(const nlohmann::json &function, size_t result)
    : argument(argumentOf(function)), formula(function.at("exact").at(result).get<std::string>()) {}

void ExactFunction::estimate(std::span<const float> x, std::span<double> out) const {
  const size_t count = x.size();
  const auto number = [&](double value) { return Estimates{std::vector<double>(count, value)}; };
  const Estimates given{std::vector<double>(x.begin(), x.end())};
  const Estimates result = evaluate(formula.tree(), argument, given, number, number(M_PI));
  std::copy(result.values.begin(), result.values.end(), out.begin());
}

double ExactFunction::estimate(double x) const {
  const auto number = [](double value) { return Estimates{{value}}; };
  return evaluate(formula.tree(), argument, number(x), number, number(M_PI)).values[0];
}

Real ExactFunction::decide(double x) const {
  const Real pi = Real(4.0) * atan(Real(1.0));
  return evaluate(
      formula.tree(), argument, Real(x), [](double value) { return Real(value); }, pi);
}

} // namespace writ::test
