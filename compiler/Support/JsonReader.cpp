//===- JsonReader.cpp - builds positioned values from SAX events ----------===//
#include "compiler/Support/Json.h"

#include "compiler/Support/JsonScan.h"
#include "compiler/Support/Utf8.h"

#include <fmt/format.h>
#include <limits>
#include <unordered_map>

namespace writ {

namespace {

/// Turns growing byte offsets into lines and columns in one pass over the text.
class PositionCursor {
public:
  explicit PositionCursor(std::string_view text) : text(text) {}

  void moveTo(size_t offset) {
    for (; position < offset && position < text.size(); ++position) {
      auto byte = static_cast<unsigned char>(text[position]);
      if (byte == '\n') {
        ++line;
        column = 1;
      } else if ((byte & 0xc0) != 0x80) {
        ++column; // continuation bytes belong to the code point before them
      }
    }
  }

  unsigned line = 1, column = 1;

private:
  std::string_view text;
  size_t position = 0;
};

} // namespace

/// The SAX handler. Open containers are a stack; the innermost one receives what is reported.
class JsonBuilder {
public:
  JsonBuilder(std::string_view text, const std::string &file)
      : tokens(text), cursor(text), file(file) {
    if (text.starts_with("\xef\xbb\xbf"))
      cursor.moveTo(3), cursor.column = 1; // the byte order mark takes no column
  }

  Json run() {
    nlohmann::json::sax_parse(tokens.first(), tokens.last(), this);
    return std::move(root);
  }

  bool null() {
    add(tokens.take()).valueKind = Json::Kind::null;
    return true;
  }
  bool boolean(bool value) {
    Json &json = add(tokens.take());
    json.valueKind = Json::Kind::boolean;
    json.boolean = value;
    return true;
  }
  bool number_integer(int64_t value) {
    addInteger(tokens.takeNumber(), value);
    return true;
  }
  bool number_unsigned(uint64_t value) {
    std::string_view digits = tokens.takeNumber();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      tooLarge(digits);
    addInteger(digits, static_cast<int64_t>(value));
    return true;
  }
  bool number_float(double value, const std::string &) {
    std::string_view digits = tokens.takeNumber();
    if (digits.find_first_of(".eE") == std::string_view::npos)
      tooLarge(digits); // the reader makes a double of an integer that does not fit
    Json &json = add(tokens.offsetOf(digits));
    json.valueKind = Json::Kind::number;
    json.number = value;
    return true;
  }
  bool string(std::string &value) {
    Json &json = add(tokens.take());
    json.valueKind = Json::Kind::string;
    json.string = std::move(value);
    return true;
  }
  bool binary(nlohmann::json::binary_t &) { return false; } // JSON text has none
  bool start_object(size_t) { return open(Json::Kind::object); }
  bool start_array(size_t) { return open(Json::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string &name) {
    Location location = locate(tokens.take());
    Level &level = levels.back();
    auto [entry, isNew] = level.keys.emplace(name, level.value->object.size());
    if (!isNew)
      throw Error(location, "E011",
                  fmt::format("key '{}' occurs twice in this object", printable(name)),
                  {{level.value->object[entry->second].keyLocation, "the first one is here"}});
    level.value->object.push_back({std::move(name), std::move(location), Json()});
    return true;
  }

  bool parse_error(size_t consumed, const std::string &, const nlohmann::json::exception &error) {
    std::string_view problem = syntaxProblem(error.what());
    bool wholeToken = problem.find("unexpected") != std::string_view::npos || error.id == 406;
    throw Error(locate(tokens.errorOffset(consumed, wholeToken)), "E010",
                fmt::format("not JSON: {}", problem));
  }

private:
  struct Level {
    Json *value;
    std::unordered_map<std::string, size_t> keys; ///< index of each member, for an object
  };

  Location locate(size_t offset) {
    cursor.moveTo(offset);
    return {file, cursor.line, cursor.column};
  }

  /// A new value in the innermost container. The pointers in `levels` stay valid: a container does
  /// not grow while one of its children is open.
  Json &add(size_t offset) {
    Json *json = &root;
    if (!levels.empty()) {
      Json &parent = *levels.back().value;
      json = parent.valueKind == Json::Kind::array ? &parent.array.emplace_back()
                                                   : &parent.object.back().value;
    }
    json->where = locate(offset);
    return *json;
  }

  void addInteger(std::string_view digits, int64_t value) {
    Json &json = add(tokens.offsetOf(digits));
    json.valueKind = Json::Kind::integer;
    json.integer = value;
  }

  [[noreturn]] void tooLarge(std::string_view digits) {
    throw Error(locate(tokens.offsetOf(digits)), "E010",
                fmt::format("integer {} is outside of [-2^63, 2^63 - 1]", printable(digits)));
  }

  bool open(Json::Kind kind) {
    constexpr size_t deepest = 128;
    size_t offset = tokens.take();
    if (levels.size() == deepest)
      throw Error(locate(offset), "E010", fmt::format("nested deeper than {} levels", deepest));
    Json &json = add(offset);
    json.valueKind = kind;
    levels.push_back({&json, {}});
    return true;
  }

  bool close() {
    tokens.take();
    levels.pop_back();
    return true;
  }

  TokenTracker tokens;
  PositionCursor cursor;
  const std::string &file;
  std::vector<Level> levels;
  Json root;
};

Json parseJson(std::string_view text, const std::string &file) {
  return JsonBuilder(text, file).run();
}

} // namespace writ
