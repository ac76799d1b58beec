//===- RandomContract.cpp - contracts drawn from the vocabulary -----------===//
#include "tests/invariance/RandomContract.h"

namespace writ::test {
namespace {

nlohmann::json::json_pointer pointerTo(std::string field) {
  for (char &c : field)
    c = c == '.' ? '/' : c;
  return nlohmann::json::json_pointer("/" + field);
}

/// A word that leaves something open, in one of the fields that can have one.
void openField(DrawnContract &drawn, const nlohmann::json &vocabulary, Random &random) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const auto &[field, list] : vocabulary["contract_fields"][drawn.json["family"]].items())
    if (vocabulary["words"].contains(list))
      for (const auto &[word, entry] : vocabulary["words"][list.get<std::string>()].items())
        if (entry.contains("portable"))
          choices.emplace_back(field, word);
  const auto &[field, word] =
      choices[static_cast<size_t>(random.below(static_cast<int64_t>(choices.size())))];
  setField(drawn.json, field, word);
  drawn.changes += " " + field + "=" + word;
}

template <typename Object> std::string anyKey(const Object &object, Random &random) {
  auto entry = object.begin();
  std::advance(entry, random.below(static_cast<int64_t>(object.size())));
  return entry.key();
}

} // namespace

void setField(nlohmann::json &contract, const std::string &field, const nlohmann::json &value) {
  contract[pointerTo(field)] = value;
}

bool hasField(const nlohmann::json &contract, const std::string &field) {
  return contract.contains(pointerTo(field));
}

void shrinkPartition(nlohmann::json &contract) {
  for (const auto &[field, size] : {std::pair("threshold", 10), {"tile", 4}, {"chunk", 8}})
    if (hasField(contract, std::string("partition.") + field))
      contract["partition"][field] = size;
}

DrawnContract drawContract(const std::string &family, const nlohmann::json &vocabulary,
                           Random &random) {
  std::vector<const nlohmann::json *> registered;
  for (const auto &[id, contract] : Data::get().contracts)
    if (contract["family"] == family)
      registered.push_back(&contract);
  DrawnContract drawn{
      *registered[static_cast<size_t>(random.below(static_cast<int64_t>(registered.size())))], {}};
  drawn.changes = drawn.json["id"].get<std::string>() + " with";
  shrinkPartition(drawn.json);
  if (random.below(2) == 0)
    openField(drawn, vocabulary, random);
  const nlohmann::json &fields = vocabulary["contract_fields"][family];
  for (int64_t left = random.below(4); left > 0; --left) {
    std::string field, word;
    if (random.below(8) == 0) {
      field = "operands." + anyKey(drawn.json["operands"], random) + ".storage";
      word = anyKey(vocabulary["words"]["storage"], random);
    } else {
      field = anyKey(fields, random);
      const auto list = vocabulary["words"].find(fields[field].get<std::string>());
      if (list == vocabulary["words"].end()) { // a number
        if (hasField(drawn.json, field) && fields[field] == "count" && family == "attention")
          setField(drawn.json, field, int64_t(1) << (1 + random.below(4)));
        continue;
      }
      word = anyKey(*list, random);
    }
    setField(drawn.json, field, word);
    drawn.changes += " " + field + "=" + word;
  }
  return drawn;
}

nlohmann::ordered_json drawReductions(const nlohmann::json &vocabulary, Random &random) {
  nlohmann::ordered_json drawn;
  const nlohmann::json &orders = vocabulary["words"]["reduction_order"];
  for (const auto &[order, meaning] : orders.items())
    for (const std::string form : {"fma", "mul_add", "none"}) {
      nlohmann::ordered_json word = {{"meaning", "a reduction of a test"},
                                     {"accumulator", "fp32"},
                                     {"multiply_add", form},
                                     {"order", order}};
      const int64_t partials = int64_t(1) << (1 + random.below(5));
      word["merge"] = random.below(2) ? "tree_halves" : "tree_adjacent";
      if (order.starts_with("segments")) {
        word["segments"] = partials;
        word["unit"] = random.below(2) ? 32 : 256;
      } else if (order.starts_with("lanes") || order == "slots" || order == "block_lanes") {
        word["lanes"] = order == "slots" ? 32 : partials;
      } else {
        word["merge"] = "none";
      }
      for (const char *said : {"portable", "varies_with"})
        if (meaning.contains(said))
          word[said] = meaning[said];
      drawn["sum_of_a_test_" + form + "_" + order] = word;
    }
  return drawn;
}

} // namespace writ::test
