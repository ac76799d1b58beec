//===- TokenizerJson.cpp - tokenizer.json of a package ----------------------===//
//
// One object whose fields are listed once, in `fields`; writing and reading both follow that list.
// Reading is by SAX, so that a document of another shape is refused at its first wrong element and
// never held in memory.
//
//===----------------------------------------------------------------------===//
#include "writ/tokenizer.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>

namespace writ {
namespace {

using nlohmann::json;

constexpr std::string_view format = "writ-tokenizer-1";
constexpr size_t maxElements = size_t(1) << 24; ///< of one list
constexpr size_t maxBytes = size_t(1) << 30;    ///< of the document

using Target =
    std::variant<bool TokenizerData::*, int32_t TokenizerData::*, std::string TokenizerData::*,
                 std::vector<float> TokenizerData::*, std::vector<int32_t> TokenizerData::*,
                 std::vector<std::string> TokenizerData::*>;

struct Field {
  std::string_view key;
  Target target;
};

const Field fields[] = {{"model", &TokenizerData::model},
                        {"pre_tokenizer", &TokenizerData::preTokenizer},
                        {"tokens", &TokenizerData::tokens},
                        {"scores", &TokenizerData::scores},
                        {"types", &TokenizerData::types},
                        {"merges", &TokenizerData::merges},
                        {"bos", &TokenizerData::bos},
                        {"eos", &TokenizerData::eos},
                        {"unknown", &TokenizerData::unknown},
                        {"padding", &TokenizerData::padding},
                        {"end_of_generation", &TokenizerData::endOfGeneration},
                        {"add_bos", &TokenizerData::addBos},
                        {"add_eos", &TokenizerData::addEos},
                        {"add_space_prefix", &TokenizerData::addSpacePrefix},
                        {"chat_template", &TokenizerData::chatTemplate}};
constexpr size_t fieldCount = std::size(fields);

/// One value of the document, of the kinds that a field can hold.
using Scalar = std::variant<bool, int64_t, double, std::string *>;

class Reader final : public nlohmann::json_sax<json> {
public:
  Reader(TokenizerData &data, std::string &error) : data(data), error(error) {}

  bool null() override { return fail("null has no place here"); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(int64_t value) override { return scalar(value); }
  bool number_unsigned(uint64_t value) override {
    return value <= static_cast<uint64_t>(INT64_MAX) ? scalar(static_cast<int64_t>(value))
                                                     : fail("the number is out of range");
  }
  bool number_float(double value, const std::string &) override { return scalar(value); }
  bool string(std::string &value) override { return scalar(&value); }
  bool binary(json::binary_t &) override { return fail("binary has no place here"); }

  bool start_object(size_t) override {
    if (depth != 0)
      return fail("an object has no place here");
    ++depth;
    return true;
  }
  bool end_object() override { return --depth == 0 && complete(); }
  bool start_array(size_t) override {
    if (depth != 1 || !current || !isList(current->target))
      return fail("a list has no place here");
    ++depth;
    elements = 0;
    return true;
  }
  bool end_array() override {
    --depth;
    return true;
  }

  bool key(std::string &name) override {
    current = nullptr;
    atFormat = name == "format";
    size_t index = atFormat ? fieldCount : 0;
    while (index < fieldCount && fields[index].key != name)
      ++index;
    if (index == fieldCount && !atFormat) {
      error = "field '" + name + "' is unknown";
      return false;
    }
    if (seen[index]) {
      error = "field '" + name + "' stands there twice";
      return false;
    }
    seen[index] = true;
    current = atFormat ? nullptr : &fields[index];
    return true;
  }

  bool parse_error(size_t position, const std::string &, const json::exception &what) override {
    error = "not JSON at byte " + std::to_string(position) + ": " + what.what();
    return false;
  }

private:
  static bool isList(const Target &target) { return target.index() >= 3; }

  bool fail(const std::string &what) {
    error = atFormat  ? "field 'format'"
            : current ? "field '" + std::string(current->key) + "'"
                      : "the document";
    if (depth == 2)
      error += ", element " + std::to_string(elements);
    error += ": " + what;
    return false;
  }

  bool complete() {
    if (!seen[fieldCount]) {
      error = "field 'format' is missing";
      return false;
    }
    for (size_t i = 0; i < fieldCount; ++i) {
      if (seen[i])
        continue;
      error = "field '" + std::string(fields[i].key) + "' is missing";
      return false;
    }
    return true;
  }

  bool store(bool &to, const Scalar &value) {
    const bool *from = std::get_if<bool>(&value);
    return from ? (to = *from, true) : fail("expected true or false");
  }
  bool store(int32_t &to, const Scalar &value) {
    const int64_t *from = std::get_if<int64_t>(&value);
    if (!from || *from < INT32_MIN || *from > INT32_MAX)
      return fail("expected an integer of 32 bits");
    to = static_cast<int32_t>(*from);
    return true;
  }
  bool store(float &to, const Scalar &value) {
    const int64_t *integer = std::get_if<int64_t>(&value);
    const double *number = std::get_if<double>(&value);
    if (!integer && !number)
      return fail("expected a number");
    double from = integer ? static_cast<double>(*integer) : *number;
    if (std::abs(from) > static_cast<double>(std::numeric_limits<float>::max()))
      return fail("the number does not fit into 32 bits");
    to = static_cast<float>(from);
    return true;
  }
  bool store(std::string &to, const Scalar &value) {
    std::string *const *from = std::get_if<std::string *>(&value);
    return from ? (to = std::move(**from), true) : fail("expected a string");
  }
  template <typename T> bool store(std::vector<T> &to, const Scalar &value) {
    if (depth != 2)
      return fail("expected a list");
    if (to.size() == maxElements)
      return fail("a list holds at most " + std::to_string(maxElements) + " elements");
    to.emplace_back();
    bool stored = store(to.back(), value);
    ++elements;
    return stored;
  }

  bool scalar(const Scalar &value) {
    if (atFormat) {
      std::string name;
      return store(name, value) &&
             (name == format || fail("'" + name + "' is not '" + std::string(format) + "'"));
    }
    if (!current)
      return fail("expected an object");
    return std::visit([&](auto member) { return store(data.*member, value); }, current->target);
  }

  TokenizerData &data;
  std::string &error;
  const Field *current = nullptr;
  bool atFormat = false;
  size_t depth = 0; ///< 1 in the object, 2 in a list
  size_t elements = 0;
  bool seen[fieldCount + 1] = {}; ///< by field; the last one is "format"
};

} // namespace

std::string writeTokenizerData(const TokenizerData &data) {
  auto text = [](const json &value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  std::string out = "{\"format\": " + text(format);
  for (const Field &field : fields) {
    out += ",\n\"" + std::string(field.key) + "\": ";
    std::visit([&](auto member) { out += text(data.*member); }, field.target);
  }
  return out + "}\n";
}

bool readTokenizerData(std::string_view document, TokenizerData *data, std::string *error) {
  std::string ignored;
  error = error ? error : &ignored;
  if (document.size() > maxBytes) {
    *error = "the document has " + std::to_string(document.size()) + " bytes; at most " +
             std::to_string(maxBytes) + " are read";
    return false;
  }
  TokenizerData read;
  Reader reader(read, *error);
  if (!json::sax_parse(document, &reader))
    return false;
  *data = std::move(read);
  return true;
}

} // namespace writ
