#include "support/json.h"

#include "support/error.h"

#include <set>

namespace writ {
namespace {

using Json = nlohmann::json;

constexpr size_t kDeepest = 128;
constexpr size_t kLongestText = 100; ///< bytes of a string in a message

} // namespace

nlohmann::json parseJson(std::string_view text, const char *file) {
  size_t depth = 0;
  std::vector<std::set<std::string>> keys; // of the objects that are open
  const auto check = [&](int, Json::parse_event_t event, Json &value) {
    switch (event) {
    case Json::parse_event_t::object_start:
      keys.emplace_back();
      [[fallthrough]];
    case Json::parse_event_t::array_start:
      if (++depth > kDeepest)
        fail(WRIT_BAD_PACKAGE, "{}: nested deeper than {} levels", file, kDeepest);
      break;
    case Json::parse_event_t::object_end:
      keys.pop_back();
      [[fallthrough]];
    case Json::parse_event_t::array_end:
      --depth;
      break;
    case Json::parse_event_t::key:
      if (!keys.back().insert(value.get<std::string>()).second)
        fail(WRIT_BAD_PACKAGE, "{}: key {} occurs twice in an object", file, describe(value));
      break;
    case Json::parse_event_t::value:
      break;
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception &error) {
    fail(WRIT_BAD_PACKAGE, "{} is not JSON: {}", file, error.what());
  }
}

std::string describe(const nlohmann::json &value) {
  if (value.is_object())
    return fmt::format("an object of {}", value.size());
  if (value.is_array())
    return fmt::format("an array of {}", value.size());
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongestText)
    text.replace(kLongestText, std::string::npos, "...");
  return text;
}

} // namespace writ
