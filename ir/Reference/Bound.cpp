//===- Bound.cpp - the error bound that a contract declares ---------------===//
#include "ir/Reference/Bound.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

namespace writ::reference {
namespace {

/// Where a formula cannot be read.
struct Unreadable {
  size_t at;
  std::string what;
};

class Evaluator {
public:
  Evaluator(std::string formula, const std::map<std::string, double> &variables)
      : text(std::move(formula)), variables(variables) {}

  double evaluate() {
    const double value = sum();
    skipSpaces();
    if (at != text.size())
      fail("the formula ends before");
    return value;
  }
  const std::set<std::string> &names() const { return used; }

private:
  [[noreturn]] void fail(const std::string &what) const { throw Unreadable{at + 1, what}; }

  void skipSpaces() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }

  bool take(const std::string &token) {
    skipSpaces();
    if (text.compare(at, token.size(), token) != 0)
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
    const size_t begin = at;
    std::string name;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
      name += text[at++];
    if (name.empty())
      fail("expected a number, a variable or '('");
    if (take("("))
      return call(name, begin);
    auto found = variables.find(name);
    if (found == variables.end()) {
      at = begin;
      fail("'" + name + "' is no declared variable");
    }
    used.insert(name);
    return found->second;
  }

  double call(const std::string &name, size_t begin) {
    std::vector<double> v;
    do
      v.push_back(sum());
    while (take(","));
    expect(")");
    if (name == "gamma" && v.size() == 1) {
      used.insert("u");
      return v[0] * kUnitRoundoff / (1 - v[0] * kUnitRoundoff);
    }
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
    at = begin;
    fail("'" + name + "' is no function of bounds of " + std::to_string(v.size()) +
         (v.size() == 1 ? " argument" : " arguments"));
  }

  std::string text;
  const std::map<std::string, double> &variables;
  std::set<std::string> used;
  size_t at = 0;
};

[[noreturn]] void fail(const nlohmann::json &contract, const std::string &field,
                       const std::string &what) {
  throw ContractError(contract.value("id", ""), field, what);
}

/// The formula's value; `names` becomes what it uses.
double valueOf(const nlohmann::json &contract, const std::map<std::string, double> &variables,
               std::set<std::string> &names) {
  const std::string formula = contract.at("bound").at("formula");
  Evaluator evaluator(formula, variables);
  try {
    const double value = evaluator.evaluate();
    names = evaluator.names();
    return value;
  } catch (const Unreadable &unreadable) {
    fail(contract, "bound.formula",
         "bound '" + formula + "', column " + std::to_string(unreadable.at) + ": " +
             unreadable.what);
  }
}

} // namespace

double evaluateBound(const nlohmann::json &contract, std::map<std::string, double> variables) {
  const nlohmann::json &declared = contract.at("bound").at("variables");
  for (const auto &[name, value] : variables)
    if (!declared.contains(name))
      throw ReferenceError("bound has no variable '" + name + "'");
  if (declared.contains("u"))
    variables["u"] = kUnitRoundoff;
  if (declared.contains("eta"))
    variables["eta"] = kLeastSubnormal;
  for (const auto &[name, meaning] : declared.items())
    if (!variables.contains(name))
      throw ReferenceError("variable '" + name + "' of the bound has no value");
  std::set<std::string> names;
  return valueOf(contract, variables, names);
}

void checkBound(const nlohmann::json &contract) {
  std::map<std::string, double> variables;
  std::set<std::string> names;
  for (const auto &[name, meaning] : contract.at("bound").at("variables").items())
    variables[name] = 1;
  valueOf(contract, variables, names);
  if (names.contains("u") && !variables.contains("u"))
    fail(contract, "bound.formula",
         "bound '" + contract["bound"]["formula"].get<std::string>() +
             "' needs 'u', which is not declared");
  for (const auto &[name, value] : variables)
    if (!names.contains(name))
      fail(contract, "bound.variables." + name,
           "variable '" + name + "' of the bound is not in its formula");
}

} // namespace writ::reference
