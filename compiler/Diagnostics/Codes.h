//===- Codes.h - the list of diagnostic codes, for programs ---------------===//
#pragma once

#include <span>
#include <string_view>

namespace writ {

struct CodeInfo {
  std::string_view id;    ///< "E101"
  std::string_view title; ///< what the code means, in one line
};

/// Every code of Codes.def, in its order.
std::span<const CodeInfo> diagnosticCodes();

/// The title of a code; empty where it is not declared.
std::string_view codeTitle(std::string_view id);

} // namespace writ
