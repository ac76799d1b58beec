//===- Function.h - elementary functions, step by step --------------------===//
#pragma once

#include "ir/Reference/Expression.h"
#include "ir/Reference/Reference.h"

namespace writ::reference {

/// One function of functions.json, interpreted.
class Function {
public:
  Function(const nlohmann::json &functions, const std::string &name);

  /// All results, in the order of the signature.
  std::vector<double> evaluate(double argument) const;
  /// The one result of a binary32 function.
  float operator()(float argument) const;
  /// Whether it is one from binary32 to one binary32.
  bool isOfBinary32() const { return type == FloatType::binary32 && results.size() == 1; }
  size_t resultCount() const { return results.size(); }

private:
  struct Special {
    Expression condition, result;
  };
  struct Step {
    std::string name;
    Expression expression;
  };
  void readSignature(const std::string &signature);
  double asNumber(const Expression &expression, const Variables &variables,
                  const OtherFunction &other) const;

  std::string name;
  FloatType type = FloatType::binary32;
  std::string argument;
  std::vector<std::string> results;
  Variables constants;
  std::vector<Special> specials;
  std::vector<Step> steps;
  std::map<std::string, std::shared_ptr<const Function>> others; ///< functions that a step calls
};

class Fields;

/// The function that `field` of the contract names, from binary32 to binary32.
Function readFunction(const Call &call, Fields &fields, const std::string &field);
/// The same where sine and cosine are asked for, in the precision that the function has.
Function readSineAndCosine(const Call &call, Fields &fields, const std::string &field);

} // namespace writ::reference
