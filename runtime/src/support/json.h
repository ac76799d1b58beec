//===- json.h - JSON files of a package -----------------------------------===//
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace writ {

/// Reads one document. Throws Failure(WRIT_BAD_PACKAGE), which names `file`, where the text is not
/// JSON, an object has a key twice (nlohmann's reader would keep the last), or values are nested
/// deeper than 128 levels.
nlohmann::json parseJson(std::string_view text, const char *file);

/// A value in the words of a message: "4", "\"text\"", "an array of 2". Never a whole document.
std::string describe(const nlohmann::json &value);

} // namespace writ
