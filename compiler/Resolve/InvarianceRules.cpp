//===- InvarianceRules.cpp - reading invariance.json ----------------------===//
#include "compiler/Resolve/InvarianceRules.h"

#include "compiler/Support/Digest.h"
#include "compiler/Support/EditDistance.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace writ {
namespace {

bool has(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> keys(const Json &object) {
  std::vector<std::string> names;
  for (const Json::Member &member : object.members())
    names.push_back(member.key);
  return names;
}

std::vector<std::string> strings(const Json *array) {
  std::vector<std::string> texts;
  if (array)
    for (const Json &element : array->elements())
      texts.push_back(element.asString());
  return texts;
}

/// Members of a vocabulary's word that say how it is read, not what is computed.
bool isAnnotation(const Json::Member &member) {
  return member.key == "meaning" || member.key == "portable" || member.key == "varies_with";
}

class Reader {
public:
  Reader(const Json &rules, const Json &vocabulary, const Json &functions,
         std::vector<Diagnostic> &found)
      : json(rules), vocabulary(vocabulary), words(vocabulary.at("words")), functions(functions),
        found(found) {}

  InvarianceRules read();

private:
  void readDimensions();
  void readPlain(const Json::Member &list);
  void readSteps(const Json::Member &list);
  void readParts(const Json::Member &list);
  std::optional<std::vector<InvarianceCause>> composed(const Json::Member &list,
                                                       const Json::Member &word);
  InvarianceCause readCause(const std::string &list, const Json &rule);
  void requireDimensions(const Json &names);
  void requireNumberField(const std::string &list, const Json &from);
  void requireWord(const std::string &list, const std::string &word, const Location &at);
  void checkLists();
  void checkVocabulary();
  void checkDeclaration(const std::string &list, const Json::Member &word);

  /// E305: what a rule says cannot be.
  void refuse(const Location &at, std::string text, std::vector<Note> notes = {}) {
    found.push_back({at, "E305", std::move(text), std::move(notes)});
  }
  /// E304: something of the vocabulary has no rule.
  void lacks(const Location &at, std::string text, Note note) {
    found.push_back({at, "E304", std::move(text), {std::move(note)}});
  }
  const Json &rulesOf(const std::string &list) const { return json.at("words").at(list); }

  const Json &json, &vocabulary, &words, &functions;
  std::vector<Diagnostic> &found;
  InvarianceRules rules;
};

void Reader::readDimensions() {
  for (const Json::Member &member : json.at("dimensions").members())
    rules.dimensions.push_back({member.key, member.value.at("meaning").asString(),
                                strings(member.value.find("obligations"))});
  for (const std::string &name : keys(json.at("not_arithmetic")))
    rules.notArithmetic.insert(name);
  for (const Json::Member &member : json.at("numbers").members())
    rules.numbers[member.key] = member.value.asString();
}

void Reader::requireDimensions(const Json &names) {
  for (const Json &name : names.elements())
    if (!rules.hasDimension(name.asString()))
      refuse(name.location(), fmt::format("'{}' is not a dimension of invariance", name.asString()),
             {{json.at("dimensions").location(),
               "dimensions are declared here: " + quotedList(rules.dimensionNames())}});
}

/// A condition is read from a number of the same contract, so some family has to have both.
void Reader::requireNumberField(const std::string &list, const Json &from) {
  const Json &field = from.at("field");
  for (const Json::Member &family : vocabulary.at("contract_fields").members()) {
    const Json *kind = family.value.find(field.asString());
    const auto &fields = family.value.members();
    if (kind && rules.numbers.contains(kind->asString()) &&
        std::any_of(fields.begin(), fields.end(),
                    [&](const Json::Member &f) { return f.value.asString() == list; }))
      return;
  }
  refuse(field.location(),
         fmt::format("no family has a number '{}' beside a word of '{}'", field.asString(), list));
}

InvarianceCause Reader::readCause(const std::string &list, const Json &rule) {
  InvarianceCause cause;
  cause.breaks = strings(&rule.at("dimensions"));
  cause.because = rule.at("because").asString();
  requireDimensions(rule.at("dimensions"));
  if (const Json *from = rule.find("from")) {
    requireNumberField(list, *from);
    cause.variable = from->at("variable").asString();
    cause.field = from->at("field").asString();
  }
  return cause;
}

void Reader::requireWord(const std::string &list, const std::string &word, const Location &at) {
  if (words.at(list).contains(word))
    return;
  const std::vector<std::string> known = keys(words.at(list)), nearest = nearestNames(word, known);
  refuse(at, fmt::format("'{}' is not a word of '{}'", word, list),
         {{words.at(list).location(),
           fmt::format("words are declared here; {}: {}", nearest.empty() ? "known" : "nearest",
                       quotedList(nearest.empty() ? known : nearest))}});
}

void Reader::readPlain(const Json::Member &list) {
  InvarianceList &read = rules.lists[list.key];
  read.why = list.value.at("why").asString();
  if (const Json *neutral = list.value.find("neutral"))
    for (const Json &word : neutral->elements()) {
      requireWord(list.key, word.asString(), word.location());
      read.words[word.asString()];
    }
  if (const Json *breaks = list.value.find("breaks"))
    for (const Json::Member &word : breaks->members()) {
      requireWord(list.key, word.key, word.keyLocation);
      if (!read.words.emplace(word.key, std::vector{readCause(list.key, word.value)}).second)
        refuse(word.keyLocation,
               fmt::format("'{}' of '{}' is neutral, and breaks something", word.key, list.key));
    }
}

/// A function whose steps are written down is those steps.
void Reader::readSteps(const Json::Member &list) {
  if (!list.value.contains("steps"))
    return;
  for (const Json &function : functions.at("functions").elements())
    if (const std::string &name = function.at("name").asString(); words.at(list.key).contains(name))
      rules.lists[list.key].words[name];
}

/// The causes of one word that is put together from other lists' words; nothing where a part is
/// missing, or is not known.
std::optional<std::vector<InvarianceCause>> Reader::composed(const Json::Member &list,
                                                             const Json::Member &word) {
  const Json &parts = list.value.at("parts");
  const size_t before = found.size();
  std::vector<InvarianceCause> causes;
  for (const Json::Member &part : parts.members()) {
    const Json *value = word.value.find(part.key);
    const std::vector<InvarianceCause> *known =
        value ? rules.find(part.value.asString(), value->asString()) : nullptr;
    if (!known) {
      lacks(value ? value->location() : word.value.location(),
            fmt::format("word '{}' of '{}' has {}: what it lets decide is unknown", word.key,
                        list.key,
                        value ? fmt::format("{} '{}' without a rule of invariance", part.key,
                                            value->asString())
                              : fmt::format("no '{}'", part.key)),
            {part.value.location(), fmt::format("the parts of '{}' are declared here", list.key)});
      continue;
    }
    for (InvarianceCause cause : *known) {
      cause.because = fmt::format("its {} is '{}': {}", part.key, value->asString(), cause.because);
      causes.push_back(std::move(cause));
    }
  }
  for (const Json::Member &member : word.value.members())
    if (!isAnnotation(member) && !member.value.isNumber() && !parts.contains(member.key))
      lacks(member.keyLocation,
            fmt::format("'{}' of word '{}' is no part with a rule of invariance", member.key,
                        word.key),
            {parts.location(), fmt::format("the parts of '{}' are declared here", list.key)});
  return found.size() == before ? std::optional(std::move(causes)) : std::nullopt;
}

/// Words with a rule of their own keep it.
void Reader::readParts(const Json::Member &list) {
  if (!list.value.contains("parts"))
    return;
  for (const Json::Member &part : list.value.at("parts").members())
    rules.partLists.insert(part.value.asString());
  for (const Json::Member &word : words.at(list.key).members())
    if (!rules.find(list.key, word.key))
      if (std::optional<std::vector<InvarianceCause>> causes = composed(list, word))
        rules.lists[list.key].words[word.key] = std::move(*causes);
}

/// Lists that the vocabulary does not have, and lists that have no rules.
void Reader::checkLists() {
  const std::vector<std::string> known = keys(words);
  for (const Json::Member &list : json.at("words").members())
    if (!words.contains(list.key)) {
      const std::vector<std::string> nearest = nearestNames(list.key, known);
      refuse(list.keyLocation, fmt::format("'{}' is not a list of the vocabulary", list.key),
             {{words.location(),
               nearest.empty() ? "lists are declared here" : "nearest: " + quotedList(nearest)}});
    } else if (const Json *parts = list.value.find("parts")) {
      for (const Json::Member &part : parts->members())
        if (const Json *of = json.at("words").find(part.value.asString()); !of || of->find("parts"))
          refuse(part.value.location(),
                 fmt::format("'{}' is not a list of words without parts", part.value.asString()));
    }
  for (const Json::Member &number : json.at("numbers").members())
    if (words.contains(number.key))
      refuse(
          number.keyLocation,
          fmt::format("'{}' is a list of words, whose rules stand one for each word", number.key));
  for (const Json::Member &list : words.members())
    if (!json.at("words").contains(list.key))
      lacks(list.keyLocation,
            fmt::format("list '{}' has no rules of invariance: what its words let decide is "
                        "unknown",
                        list.key),
            {json.at("words").location(), "rules are declared here"});
  for (const Json::Member &family : vocabulary.at("contract_fields").members())
    for (const Json::Member &field : family.value.members())
      if (const std::string &kind = field.value.asString();
          !words.contains(kind) && !rules.numbers.contains(kind))
        lacks(field.value.location(),
              fmt::format("'{}' is neither a list of words nor a number with a rule of invariance",
                          kind),
              {json.at("numbers").location(), "numbers are declared here"});
}

/// The vocabulary says itself which words are not portable; the two must not tell different
/// stories.
void Reader::checkDeclaration(const std::string &list, const Json::Member &word) {
  const std::vector<InvarianceCause> *causes = rules.find(list, word.key);
  if (!causes) {
    lacks(word.keyLocation,
          fmt::format("word '{}' of '{}' has no rule of invariance: it is neutral, or it says what "
                      "it breaks",
                      word.key, list),
          {rulesOf(list).location(), fmt::format("rules of '{}' are declared here", list)});
    return;
  }
  std::vector<std::string> broken;
  for (const InvarianceCause &cause : *causes)
    broken.insert(broken.end(), cause.breaks.begin(), cause.breaks.end());
  const Json *portable = word.value.find("portable");
  if (!broken.empty() && (!portable || portable->asBool()))
    refuse(word.keyLocation,
           fmt::format("word '{}' of '{}' breaks {}, but is not marked \"portable\": false",
                       word.key, list, quotedList(broken)),
           {{rulesOf(list).location(), fmt::format("rules of '{}' are declared here", list)}});
  if (const Json *varies = word.value.find("varies_with"))
    for (const Json &name : varies->elements())
      if (!has(broken, name.asString()))
        refuse(name.location(),
               fmt::format("word '{}' of '{}' varies with '{}', which its rule does not break",
                           word.key, list, name.asString()),
               {{rulesOf(list).location(), fmt::format("rules of '{}' are declared here", list)}});
}

void Reader::checkVocabulary() {
  for (const Json::Member &list : words.members())
    for (const Json::Member &word : list.value.members())
      checkDeclaration(list.key, word);
}

InvarianceRules Reader::read() {
  rules.digest = sha256Json(json.plain());
  readDimensions();
  rules.scheduling = readCause("", json.at("scheduling_alters_order"));
  checkLists();
  if (!found.empty())
    return rules;
  for (const Json::Member &list : json.at("words").members())
    readPlain(list);
  for (const Json::Member &list : json.at("words").members())
    readSteps(list);
  for (const Json::Member &list : json.at("words").members())
    readParts(list);
  if (found.empty())
    checkVocabulary();
  return rules;
}

} // namespace

bool InvarianceRules::hasDimension(const std::string &name) const {
  return has(dimensionNames(), name);
}

std::vector<std::string> InvarianceRules::dimensionNames() const {
  std::vector<std::string> names;
  for (const InvarianceDimension &dimension : dimensions)
    names.push_back(dimension.name);
  return names;
}

const std::vector<InvarianceCause> *InvarianceRules::find(const std::string &list,
                                                          const std::string &word) const {
  const auto words = lists.find(list);
  if (words == lists.end())
    return nullptr;
  const auto causes = words->second.words.find(word);
  return causes == words->second.words.end() ? nullptr : &causes->second;
}

InvarianceRules readInvarianceRules(const Json &rules, const Json &vocabulary,
                                    const Json &functions, std::vector<Diagnostic> &found) {
  return Reader(rules, vocabulary, functions, found).read();
}

} // namespace writ
