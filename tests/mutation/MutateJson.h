//===- MutateJson.h - a JSON text with a mistake --------------------------===//
#pragma once

#include "tests/import/Xorshift.h"

namespace writ::test {

/// `text` with one mistake of the kinds that files written by hand have: a value or a key replaced
/// (by one of another kind, an extreme one, or another of the file), a line gone or standing twice,
/// or a few bytes spoilt.
std::string mutateJson(const std::string &text, Xorshift &random);

} // namespace writ::test
