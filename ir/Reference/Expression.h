//===- Expression.h - the step language of functions.json -----------------===//
//
//   conditional := or ['?' conditional ':' conditional]      or := equal ('||' equal)*
//   equal := relation ['==' relation]                        relation := and [('<' | '>') and]
//   and := shift ('&' shift)*                                shift := sum ('>>' sum)*
//   sum := product (('+' | '-') product)*                    product := unary (('*' | '/') unary)*
//   unary := '-' unary | number | name | name '(' conditional (',' conditional)* ')'
//          | '(' conditional ')'
//
// A value is an integer or a number of the function's type. One + - * / of numbers stands in an
// rn(…) of its own, so that each rounding can be seen; an integer beside a number is converted.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace writ::reference {

/// The type in which a function computes.
enum class FloatType { binary32, binary64 };

struct Value {
  bool isInteger = false;
  int64_t integer = 0;
  double number = 0; ///< a value of the function's type
};

using Variables = std::map<std::string, Value>;
/// Another function of functions.json, called from a step.
using OtherFunction = std::function<double(const std::string &name, double argument)>;

struct ExpressionNode {
  std::string kind; ///< an operator, "constant", "name", or the name of what is called
  Value constant;
  std::string name;
  std::vector<std::unique_ptr<ExpressionNode>> parts;
};

class Expression {
public:
  explicit Expression(std::string_view text);
  Value evaluate(FloatType type, const Variables &variables, const OtherFunction &other) const;
  /// The text as a tree, for who reads it another way.
  const ExpressionNode &tree() const { return *root; }

private:
  std::shared_ptr<const ExpressionNode> root;
};

} // namespace writ::reference
