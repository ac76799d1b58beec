//===- Json.h - JSON values that know where they stand --------------------===//
//
// nlohmann/json keeps no positions and drops duplicate keys, so the document is read by its SAX
// interface over a counting iterator: each value and each key carries line and column, and a
// duplicate key is an error (E011).
//
// A column counts Unicode code points from 1, as editors do, so that the position behind an 'é' is
// the one a person sees; a tab is one column. Strings are well-formed UTF-8 or the text is refused.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Diagnostics/Diagnostic.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// One JSON value with its position. Members keep the order of the file.
class Json {
public:
  enum class Kind { null, boolean, integer, number, string, array, object };
  struct Member;

  Json() = default;

  Kind kind() const { return valueKind; }
  bool isNull() const { return valueKind == Kind::null; }
  bool isString() const { return valueKind == Kind::string; }
  bool isObject() const { return valueKind == Kind::object; }
  bool isArray() const { return valueKind == Kind::array; }
  bool isInteger() const { return valueKind == Kind::integer; }
  bool isNumber() const { return valueKind == Kind::integer || valueKind == Kind::number; }

  /// The typed accessors throw E013 ("expected string, got integer 3") at this value's position.
  const std::string &asString() const;
  int64_t asInteger() const;
  double asNumber() const; ///< integers convert
  bool asBool() const;
  const std::vector<Json> &elements() const;
  const std::vector<Member> &members() const;

  /// The member `key` of an object, or null where it is absent.
  const Json *find(std::string_view key) const;
  /// The member `key`; throws E012 ("missing field 'key'") at this object's position.
  const Json &at(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }

  const Location &location() const { return where; }

  /// The same value, standing at `place` as a whole: for what was made of other documents.
  Json placedAt(const Location &place) const;

  /// The value without positions, for libraries that take nlohmann's type.
  nlohmann::json plain() const;

private:
  friend class JsonBuilder;
  Kind valueKind = Kind::null;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string string;
  std::vector<Json> array;
  std::vector<Member> object;
  Location where;
};

struct Json::Member {
  std::string key;
  Location keyLocation;
  Json value;
};

/// The value in the words of a diagnostic: "integer 3", "string 'abc'", "array of 2", "null".
std::string describe(const Json &value);

/// Reads one JSON document. `file` is the name that diagnostics print. Errors: E010 (syntax, an
/// integer beyond int64_t, a number beyond double, more than 128 levels), E011 (duplicate key, with
/// a note at the first one).
Json parseJson(std::string_view text, const std::string &file);
/// Reads a file; E001 where it cannot be read (with the system's reason).
Json readJsonFile(const std::string &path);

/// Checks `document` against the JSON Schema (draft 7) in `schema`, by valijson. All violations are
/// thrown as one Error, in the order of the document: E014 unknown field, at its key, with the
/// nearest known names; E012 missing field, at the object; E015 any other rule of the schema, at
/// the value. E016 where the schema itself cannot be used. "$ref" is followed inside `schema` only.
/// Where the forms of an `anyOf` or `oneOf` differ in a `const`, an `enum` or a type, the
/// violations are those of the one form that is meant.
void checkSchema(const Json &document, const Json &schema);

/// RFC 8785 text of a value: keys sorted by UTF-16 code units, no white space, numbers as
/// ECMAScript prints them. E017 where the RFC has no text: a number that is not finite, an integer
/// that no double holds, a string that is not UTF-8.
std::string canonicalJson(const nlohmann::json &value);
/// The same of a document that was read; E017 stands at the value.
std::string canonicalDocument(const Json &document);

} // namespace writ
