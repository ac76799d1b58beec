//===- Bound.cpp - the error bound that a contract declares ---------------===//
#include "tests/conformance/Bound.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace writ::test {
namespace {

class Evaluator {
public:
  Evaluator(std::string formula, const std::map<std::string, double> &variables)
      : text(std::move(formula)), variables(variables) {}

  double evaluate() {
    const double value = sum();
    if (take("") || at != text.size())
      fail("cannot be read here");
    return value;
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw std::runtime_error("bound '" + text + "' at " + std::to_string(at) + ": " + what);
  }

  bool take(const std::string &token) {
    while (at < text.size() && text[at] == ' ')
      ++at;
    if (token.empty() || text.compare(at, token.size(), token) != 0)
      return false;
    at += token.size();
    return true;
  }

  void expect(const std::string &token) {
    if (!take(token))
      fail("expected '" + token + "'");
  }

  double sum() {
    double value = product();
    for (;;) {
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        return value;
    }
  }

  double product() {
    double value = unary();
    for (;;) {
      if (take("*"))
        value *= unary();
      else if (take("/"))
        value /= unary();
      else
        return value;
    }
  }

  double unary() {
    if (take("(")) {
      const double value = sum();
      expect(")");
      return value;
    }
    if (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      char *end = nullptr;
      const double value = std::strtod(text.c_str() + at, &end);
      at = static_cast<size_t>(end - text.c_str());
      return value;
    }
    std::string name;
    while (at < text.size() && (std::isalnum(text[at]) || text[at] == '_'))
      name += text[at++];
    if (take("("))
      return call(name);
    auto found = variables.find(name);
    if (found == variables.end())
      fail("'" + name + "' is no variable");
    return found->second;
  }

  double call(const std::string &name) {
    std::vector<double> v;
    do
      v.push_back(sum());
    while (take(","));
    expect(")");
    if (name == "gamma" && v.size() == 1)
      return v[0] * kUnitRoundoff / (1 - v[0] * kUnitRoundoff);
    if (name == "max" && v.size() == 2)
      return std::max(v[0], v[1]);
    if (name == "min" && v.size() == 2)
      return std::min(v[0], v[1]);
    if (name == "ceil" && v.size() == 1)
      return std::ceil(v[0]);
    if (name == "ln" && v.size() == 1)
      return std::log(v[0]);
    if (name == "expm1" && v.size() == 1)
      return std::expm1(v[0]);
    fail("'" + name + "' is no function of bounds");
  }

  std::string text;
  const std::map<std::string, double> &variables;
  size_t at = 0;
};

} // namespace

double evaluateBound(const nlohmann::json &contract, std::map<std::string, double> variables) {
  const nlohmann::json &bound = contract.at("bound");
  const nlohmann::json &declared = bound.at("variables");
  for (const auto &[name, value] : variables)
    if (!declared.contains(name))
      throw std::runtime_error("bound has no variable '" + name + "'");
  if (declared.contains("u"))
    variables["u"] = kUnitRoundoff;
  if (declared.contains("eta"))
    variables["eta"] = kLeastSubnormal;
  for (const auto &[name, meaning] : declared.items())
    if (!variables.contains(name))
      throw std::runtime_error("variable '" + name + "' of the bound has no value");
  return Evaluator(bound.at("formula").get<std::string>(), variables).evaluate();
}

} // namespace writ::test
