//===- ReadCatalog.cpp - JSON documents to catalog entries ----------------===//
#include "compiler/Resolve/ReadCatalog.h"

#include "compiler/Support/Digest.h"
#include "compiler/Support/EditDistance.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ {
namespace {

std::vector<std::string> readStrings(const Json *json) {
  std::vector<std::string> strings;
  if (json)
    for (const Json &element : json->elements())
      strings.push_back(element.asString());
  return strings;
}

/// Whether a text begins with "optional", which is taken off.
bool takeOptional(std::string &text) {
  constexpr std::string_view optional = "optional ";
  if (!text.starts_with(optional))
    return false;
  text.erase(0, optional.size());
  return true;
}

/// "optional weight[n,k]": whether it may be absent, its kind, the dimensions of its shape.
OperandRule readOperandRule(const std::string &name, std::string text) {
  OperandRule rule;
  rule.name = name;
  rule.optional = takeOptional(text);
  if (size_t open = text.find('['); open != std::string::npos) {
    std::string dimension;
    for (char c : text.substr(open + 1)) {
      if (c == ',' || c == ']') {
        rule.shape.push_back(dimension);
        dimension.clear();
      } else {
        dimension += c;
      }
    }
    text.erase(open);
  }
  rule.kind = text;
  return rule;
}

DimensionRange readRange(const Json &json) {
  DimensionRange range;
  if (const Json *min = json.find("min"))
    range.min = min->asInteger();
  if (const Json *max = json.find("max"))
    range.max = max->asInteger();
  if (const Json *multiple = json.find("multiple_of"))
    range.multipleOf = multiple->asInteger();
  return range;
}

void readFunctions(const Json &json, KernelMap &map) {
  map.contractOracle = json.at("contract_oracle").asString();
  map.production = json.at("production").asString();
  map.threaded = json.at("threaded").asString();
}

void readThreading(const Json &json, KernelMap &map) {
  map.threadingRuntime = json.at("runtime").asString();
  map.partition = json.at("partition").asString();
  map.partitions = readStrings(json.find("partitions"));
  map.extent = readStrings(json.find("extent"));
  map.grain = json.at("grain").asInteger();
  map.schedulingAltersOrder = json.at("scheduling_alters_order").asBool();
}

/// The word of a list that stands where none is given; "" where none is said to.
std::string defaultWord(const Json &vocabulary, const std::string &list) {
  if (const Json *words = vocabulary.at("words").find(list))
    for (const Json::Member &word : words->members())
      if (const Json *given = word.value.find("default"); given && given->asBool())
        return word.key;
  return "";
}

} // namespace

std::map<std::string, Family> readFamilies(const Json &vocabulary) {
  std::map<std::string, Family> families;
  for (const Json::Member &member : vocabulary.at("families").members()) {
    Family &family = families[member.key];
    family.name = member.key;
    for (const Json::Member &operand : member.value.at("operands").members())
      family.operands.push_back(readOperandRule(operand.key, operand.value.asString()));
    family.dimensions = readStrings(member.value.find("dimensions"));
    for (std::string attribute : readStrings(member.value.find("attributes"))) {
      if (takeOptional(attribute))
        family.optionalAttributes[attribute] = defaultWord(vocabulary, attribute);
      family.attributes.push_back(std::move(attribute));
    }
    for (std::string number : readStrings(member.value.find("numbers"))) {
      if (takeOptional(number))
        family.optionalNumbers.insert(number);
      family.numbers.push_back(std::move(number));
    }
    family.phases = readStrings(member.value.find("phases"));
    if (const Json *parts = member.value.find("parts"))
      for (const Json &part : parts->elements()) {
        FamilyPart &read = family.parts.emplace_back();
        read.family = part.at("family").asString();
        for (const Json::Member &name : part.at("as").members())
          read.as[name.key] = name.value.asString();
      }
    if (const Json *inner = member.value.find("inner"))
      for (const Json::Member &value : inner->members())
        family.inner.insert(value.key);
  }
  return families;
}

Contract readContract(const Json &json) {
  Contract contract;
  contract.id = json.at("id").asString();
  contract.family = json.at("family").asString();
  for (const Json::Member &operand : json.at("operands").members())
    contract.storage[operand.key] = operand.value.at("storage").asString();
  contract.digest = sha256Document(json);
  contract.json = json;
  return contract;
}

Profile readProfile(const Json &json) {
  Profile profile;
  profile.id = json.at("id").asString();
  profile.fusions = readStrings(&json.at("fusions"));
  for (const Json &rule : json.at("rules").elements()) {
    ProfileRule &read = profile.rules.emplace_back();
    read.op = rule.at("op").asString();
    if (const Json *match = rule.find("match"))
      for (const Json::Member &field : match->members())
        read.match[field.key] = field.value.asString();
    read.contract = rule.at("contract").asString();
    read.location = rule.at("contract").location();
  }
  profile.digest = sha256Document(json);
  profile.json = json;
  return profile;
}

namespace {

/// Puts the rules of `base` that the profile does not have itself before its own.
void takeOver(Profile &profile, const Profile &base) {
  std::vector<ProfileRule> rules;
  for (const ProfileRule &rule : base.rules)
    if (std::none_of(profile.rules.begin(), profile.rules.end(), [&](const ProfileRule &own) {
          return own.op == rule.op && own.match == rule.match;
        }))
      rules.push_back(rule);
  rules.insert(rules.end(), profile.rules.begin(), profile.rules.end());
  profile.rules = std::move(rules);
  profile.digest = sha256(profile.digest + base.digest);
}

} // namespace

void extendProfiles(std::map<std::string, Profile> &profiles, std::vector<Diagnostic> &found) {
  std::vector<std::string> complete;
  for (const auto &[id, profile] : profiles)
    if (!profile.json.find("extends"))
      complete.push_back(id);
  for (auto &[id, profile] : profiles) {
    const Json *extends = profile.json.find("extends");
    if (!extends)
      continue;
    const std::string &name = extends->asString();
    if (std::find(complete.begin(), complete.end(), name) == complete.end()) {
      const std::string fault = profiles.contains(name)
                                    ? fmt::format("profile '{}' extends another itself", name)
                                    : fmt::format("'{}' is not a profile", name);
      const Note note{{}, "profiles that can be extended: " + quotedList(complete)};
      found.push_back({extends->location(), "E129", fault, {note}});
    } else {
      takeOver(profile, profiles.at(name));
    }
  }
}

KernelMap readKernelMap(const Json &json) {
  KernelMap map;
  map.id = json.at("id").asString();
  map.op = json.at("op").asString();
  map.target = json.at("target").asString();
  map.contracts = readStrings(&json.at("contracts"));
  map.phases = readStrings(&json.at("phases"));
  for (const Json::Member &operand : json.at("operands").members()) {
    MapOperand &read = map.operands[operand.key];
    read.storage = operand.value.at("storage").asString();
    if (const Json *layout = operand.value.find("layout"))
      read.layout = layout->asString();
    if (const Json *optional = operand.value.find("optional"))
      read.optional = optional->asBool();
  }
  if (const Json *attributes = json.find("attributes"))
    for (const Json::Member &attribute : attributes->members())
      map.attributes[attribute.key] = readStrings(&attribute.value);
  if (const Json *dimensions = json.find("dimensions"))
    for (const Json::Member &dimension : dimensions->members())
      map.dimensions[dimension.key] = readRange(dimension.value);
  readFunctions(json.at("functions"), map);
  map.isa = readStrings(&json.at("isa"));
  readThreading(json.at("threading"), map);
  for (const Json &argument : json.at("arguments").elements())
    map.arguments.push_back({argument.at("name").asString(), argument.at("type").asString(),
                             argument.at("bind").asString()});
  map.digest = sha256Document(json);
  map.json = json;
  return map;
}

} // namespace writ
