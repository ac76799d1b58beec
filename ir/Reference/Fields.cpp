//===- Fields.cpp - reading a contract ------------------------------------===//
#include "ir/Reference/Fields.h"

#include "ir/Reference/Schedule.h"
#include "ir/Reference/Storage.h"

#include <charconv>

namespace writ::reference {

Fields::Fields(const Call &call, const char *family) : call(call) {
  if (!call.contract || !call.vocabulary || !call.functions)
    throw ReferenceError("a call needs contract, vocabulary and functions");
  id = call.contract->value("id", "");
  if (call.contract->value("family", "") != family)
    fail("family", "field 'family' is '" + call.contract->value("family", "") + "', expected '" +
                       family + "'");
  read = {"schema", "id", "family", "operands", "bound"};
}

const nlohmann::json &Fields::value(const std::string &field) {
  const size_t dot = field.find('.');
  const std::string first = field.substr(0, dot);
  const nlohmann::json *found = &*call.contract;
  if (found->contains(first))
    found = &(*found)[first];
  else
    fail(first, "field '" + first + "' is missing");
  if (dot != std::string::npos) {
    const std::string second = field.substr(dot + 1);
    if (!found->is_object() || !found->contains(second))
      fail(field, "field '" + field + "' is missing");
    found = &(*found)[second];
  }
  read.insert(field);
  return *found;
}

const std::string &Fields::word(const std::string &field) {
  const nlohmann::json &json = value(field);
  if (!json.is_string())
    fail(field, "field '" + field + "' is " + json.dump() + ", not a word");
  return json.get_ref<const std::string &>();
}

size_t Fields::choose(const std::string &field, std::initializer_list<const char *> known) {
  const std::string &found = word(field);
  size_t index = 0;
  for (const char *candidate : known) {
    if (found == candidate)
      return index;
    ++index;
  }
  if (isLeftOpen(field, found)) {
    if (known.size() < 2)
      fail(field, "field '" + field + "' is '" + found +
                      "', but the reference knows no other word there than '" + *known.begin() +
                      "': nothing is left to choose");
    return leftOpenToAll(call, field) % known.size();
  }
  unknownWord(field, found, known);
}

/// Whether the word is the vocabulary's for "anything may decide", in a list that has it.
bool Fields::isLeftOpen(const std::string &field, const std::string &word) const {
  if (word != kLeftOpen)
    return false;
  const nlohmann::json &fields =
      call.vocabulary->at("contract_fields").at(call.contract->at("family"));
  const auto list = fields.find(field);
  return list != fields.end() && call.vocabulary->at("words").at(*list).contains(word);
}

void Fields::unknownWord(const std::string &field, const std::string &word,
                         std::initializer_list<const char *> known) const {
  std::string list;
  for (const char *candidate : known)
    list += std::string(list.empty() ? "" : ", ") + "'" + candidate + "'";
  fail(field, "field '" + field + "' is '" + word + "'; the reference knows " + list);
}

int64_t Fields::count(const std::string &field) {
  const nlohmann::json &json = value(field);
  if (!json.is_number_integer() || json.get<int64_t>() < 1)
    fail(field, "field '" + field + "' is " + json.dump() + ", not a count");
  return json.get<int64_t>();
}

float Fields::hexFloat(const std::string &field) {
  const std::string &text = word(field);
  try {
    return static_cast<float>(parseHexFloat(text));
  } catch (const ReferenceError &error) {
    fail(field, "field '" + field + "': " + error.what());
  }
}

const std::string &Fields::attribute(const std::string &field) {
  const std::string &stated = word(field);
  if (call.readsOnly) // there is no op
    return stated;
  auto given = call.attributes.find(field);
  if (given == call.attributes.end() || given->second != stated)
    fail(field, "field '" + field + "' is '" + stated + "', but the op has " +
                    (given == call.attributes.end() ? "none" : "'" + given->second + "'"));
  return stated;
}

void Fields::requireIeee(const char *nan, const char *infinity, bool flushes) {
  require("exceptional.nan", nan);
  require("exceptional.infinity", infinity);
  if (flushes)
    require("exceptional.subnormal", "flushed_in_multiply_add");
  else
    choose("exceptional.subnormal", {"kept", "flushed"}); // Matrix flushes
  choose("exceptional.overflow", {"to_infinity", "impossible"});
}

bool Fields::checkAllRead() const {
  for (const auto &[key, json] : call.contract->items()) {
    if (read.contains(key))
      continue;
    if (!json.is_object())
      fail(key, "field '" + key + "' has no effect on this op");
    for (const auto &[inner, ignored] : json.items())
      if (const std::string field = key + "." + inner; !read.contains(field))
        fail(field, "field '" + field + "' has no effect on this op");
  }
  return !call.readsOnly;
}

const std::string &Fields::storage(const std::string &operand) const {
  const nlohmann::json &operands = call.contract->at("operands");
  if (!operands.contains(operand))
    fail("operands", "operand '" + operand + "' is missing");
  return operands[operand].at("storage").get_ref<const std::string &>();
}

void Fields::requireScalars(std::initializer_list<const char *> operands) const {
  for (const char *operand : operands)
    if (call.contract->at("operands").contains(operand) && !isScalar(storage(operand)))
      fail(std::string("operands.") + operand + ".storage",
           std::string("operand '") + operand + "' has storage '" + storage(operand) +
               "'; the reference knows 'f32', 'f16', 'bf16'");
}

void Fields::requireStorage(const std::string &operand, const char *known) const {
  if (storage(operand) != known)
    fail("operands." + operand + ".storage", "operand '" + operand + "' has storage '" +
                                                 storage(operand) + "'; the reference knows '" +
                                                 known + "'");
}

void Fields::fail(const std::string &field, const std::string &what) const {
  throw ContractError(id, field, what);
}

double parseHexFloat(std::string_view text) {
  const std::string_view whole = text;
  const bool negative = text.starts_with('-');
  if (negative)
    text.remove_prefix(1);
  double result = 0;
  const bool prefixed = text.starts_with("0x");
  if (prefixed)
    text.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), result, std::chars_format::hex);
  if (!prefixed || error != std::errc() || end != text.data() + text.size())
    throw ReferenceError("'" + std::string(whole) + "' is not a hexadecimal number");
  return negative ? -result : result;
}

} // namespace writ::reference
