//===- Expression.h - arithmetic in circuits ------------------------------===//
//
// A circuit computes sizes from a model's metadata ("embedding_length / head_count"). The language
// is total: no loops, no functions, bounded depth, and every result is exact or an error.
//
//   conditional := or ['?' conditional ':' conditional]
//   or  := and ('||' and)*            and := comparison ('&&' comparison)*
//   comparison := sum [('<' | '<=' | '>' | '>=' | '==' | '!=') sum]
//   sum := product (('+' | '-') product)*
//   product := unary (('*' | '/' | '%') unary)*
//   unary := ('-' | '!') unary | number | name | '(' conditional ')'
//   name := [A-Za-z_][A-Za-z0-9_]* ('.' [A-Za-z0-9_]+)*
//
// Two integers give an integer; an integer beside a double becomes one where it is exact. Integer
// division has to come out even, and '%' takes a non-negative dividend and a positive divisor, so
// that no rounding rule has to be remembered. Comparisons and logic give 0 or 1; a condition is an
// integer. '&&', '||' and '?:' compute only the branch that is taken (the others are still read,
// and their names looked up), so `n != 0 ? a / n : 0` is fine.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Support/Json.h"

#include <functional>
#include <optional>
#include <string_view>
#include <variant>

namespace writ {

using Value = std::variant<int64_t, double>;
using NameLookup = std::function<std::optional<Value>(std::string_view name)>;

/// The value of a JSON number, or of the expression in a JSON string. Errors stand at the JSON
/// value and name the column inside the text: E036 cannot be read, E037 unknown name, E038 division
/// by zero or with a remainder, E039 overflow, a result that is not finite, or a wrong kind.
Value evaluateExpression(const Json &stringOrNumber, const NameLookup &lookup);

/// The same where an integer is needed; a double is refused (E039).
int64_t evaluateInteger(const Json &stringOrNumber, const NameLookup &lookup);
/// The same where a double is needed; an integer converts where it is exact (E039).
double evaluateNumber(const Json &stringOrNumber, const NameLookup &lookup);

} // namespace writ
