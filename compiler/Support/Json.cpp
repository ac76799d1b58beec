//===- Json.cpp - JSON values that know where they stand ------------------===//
#include "compiler/Support/Json.h"

#include "compiler/Support/EditDistance.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Support/Utf8.h"

#include <fmt/format.h>

namespace writ {

std::string describe(const Json &value) {
  switch (value.kind()) {
  case Json::Kind::null:
    return "null";
  case Json::Kind::boolean:
    return value.asBool() ? "boolean true" : "boolean false";
  case Json::Kind::integer:
    return fmt::format("integer {}", value.asInteger());
  case Json::Kind::number:
    return fmt::format("number {}", value.asNumber());
  case Json::Kind::string:
    return fmt::format("string '{}'", printable(value.asString()));
  case Json::Kind::array:
    return fmt::format("array of {}", value.elements().size());
  case Json::Kind::object:
    break;
  }
  return fmt::format("object of {}", value.members().size());
}

[[noreturn]] static void wrongKind(const Json &value, const char *expected) {
  throw Error(value.location(), "E013",
              fmt::format("expected {}, got {}", expected, describe(value)));
}

Json Json::placedAt(const Location &place) const {
  Json placed = *this;
  placed.where = place;
  for (Json &element : placed.array)
    element = element.placedAt(place);
  for (Member &member : placed.object) {
    member.keyLocation = place;
    member.value = member.value.placedAt(place);
  }
  return placed;
}

const std::string &Json::asString() const {
  if (valueKind != Kind::string)
    wrongKind(*this, "string");
  return string;
}

int64_t Json::asInteger() const {
  if (valueKind != Kind::integer)
    wrongKind(*this, "integer");
  return integer;
}

double Json::asNumber() const {
  if (valueKind == Kind::integer)
    return static_cast<double>(integer);
  if (valueKind != Kind::number)
    wrongKind(*this, "number");
  return number;
}

bool Json::asBool() const {
  if (valueKind != Kind::boolean)
    wrongKind(*this, "boolean");
  return boolean;
}

const std::vector<Json> &Json::elements() const {
  if (valueKind != Kind::array)
    wrongKind(*this, "array");
  return array;
}

const std::vector<Json::Member> &Json::members() const {
  if (valueKind != Kind::object)
    wrongKind(*this, "object");
  return object;
}

const Json *Json::find(std::string_view key) const {
  for (const Member &member : members())
    if (member.key == key)
      return &member.value;
  return nullptr;
}

const Json &Json::at(std::string_view key) const {
  if (const Json *value = find(key))
    return *value;
  throw Error(where, "E012", fmt::format("missing field '{}'", key));
}

nlohmann::json Json::plain() const {
  switch (valueKind) {
  case Kind::null:
    return nullptr;
  case Kind::boolean:
    return boolean;
  case Kind::integer:
    return integer;
  case Kind::number:
    return number;
  case Kind::string:
    return string;
  case Kind::array: {
    nlohmann::json result = nlohmann::json::array();
    for (const Json &element : array)
      result.push_back(element.plain());
    return result;
  }
  case Kind::object:
    break;
  }
  nlohmann::json result = nlohmann::json::object();
  for (const Member &member : object)
    result[member.key] = member.value.plain();
  return result;
}

Json readJsonFile(const std::string &path) {
  return parseJson(readFile(path), path);
}

} // namespace writ
