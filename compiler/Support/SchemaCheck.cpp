//===- SchemaCheck.cpp - JSON Schema violations as diagnostics ------------===//
//
// valijson decides whether the document is valid. Its findings are a place and a sentence; each is
// attributed to the schema that it comes from (SchemaNodes.h) and said again with position, rule
// and actual value. Findings about forms of a choice that are not meant find no such schema and
// drop out.
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Json.h"

#include "compiler/Support/EditDistance.h"
#include "compiler/Support/SchemaNodes.h"
#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <list>
#include <map>
#include <regex>

#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace writ {

namespace {

/// The part of a valijson description between the first pair of quotes.
std::string quotedPart(const std::string &text, size_t from) {
  size_t start = text.find('\'', from);
  size_t end = text.rfind('\'');
  if (start == std::string::npos || end <= start)
    return {};
  return text.substr(start + 1, end - start - 1);
}

/// Text of a rule's own value, as the schema has it.
std::string words(const Json &rule) {
  return printable(rule.plain().dump(), 200);
}

/// How the rules that are one comparison read behind the actual value.
const std::map<std::string, const char *> &ruleTexts() {
  static const std::map<std::string, const char *> texts = {
      {"const", "must be {}"},
      {"pattern", "must match the pattern {}"},
      {"minimum", "must be at least {}"},
      {"maximum", "must be at most {}"},
      {"exclusiveMinimum", "must be greater than {}"},
      {"exclusiveMaximum", "must be less than {}"},
      {"multipleOf", "must be a multiple of {}"},
      {"minItems", "must have at least {} elements"},
      {"maxItems", "must have at most {} elements"},
      {"minLength", "must have at least {} characters"},
      {"maxLength", "must have at most {} characters"},
      {"minProperties", "must have at least {} fields"},
      {"maxProperties", "must have at most {} fields"},
      {"format", "must have the format {}"},
      {"not", "must not fit {}"},
      {"contains", "must contain an element that fits {}"},
      {"uniqueItems", "must have no two equal elements"}};
  return texts;
}

/// Which keyword a valijson sentence comes from: the first prefix that fits.
struct Sentence {
  const char *prefix;
  const char *keyword;
};
constexpr Sentence sentences[] = {
    {"Object contains a property that could not", "additionalProperties"},
    {"Missing required property", "required"},
    {"Missing dependency", "dependencies"},
    {"Value type not permitted", "type"},
    {"Failed to match against any enum", "enum"},
    {"Failed to match expected value set by 'const'", "const"},
    {"Failed to match regex", "pattern"},
    {"Expected number less than or equal", "maximum"},
    {"Expected number greater than or equal", "minimum"},
    {"Expected number less than", "exclusiveMaximum"},
    {"Expected number greater than", "exclusiveMinimum"},
    {"Value should be a multiple", "multipleOf"},
    {"Array should contain no more", "maxItems"},
    {"Array should contain no fewer", "minItems"},
    {"String should be no more", "maxLength"},
    {"String should be no fewer", "minLength"},
    {"Object should have no more", "maxProperties"},
    {"Object should have no fewer", "minProperties"},
    {"String should be a valid", "format"},
    {"Target should not validate", "not"},
    {"Failed to any values against", "contains"},
    {"Elements at indexes", "uniqueItems"},
    {"Array contains more items than", "additionalItems"},
    {"Failed to validate against any schemas allowed by anyOf", "anyOf"},
    {"Failed to validate against any child schemas allowed by oneOf", "oneOf"},
    {"Failed to validate against exactly one", "oneOf"}};

class Reporter {
public:
  Reporter(const Json &document, const Json &schema) : document(document), schema(schema) {}

  void report(const valijson::ValidationResults::Error &error) {
    const Json *value = &document;
    SchemaNodes where = schemaRoot(schema, document);
    for (size_t i = 1; i < error.context.size(); ++i) {
      std::string token = error.context[i].substr(1, error.context[i].size() - 2);
      if (value->isObject()) {
        const Json *child = value->find(token);
        if (!child)
          return;
        where = schemaMember(schema, where, token, *child);
        value = child;
      } else {
        size_t index = 0;
        std::from_chars(token.data(), token.data() + token.size(), index);
        if (!value->isArray() || index >= value->elements().size())
          return;
        where = schemaElement(schema, where, index, value->elements()[index]);
        value = &value->elements()[index];
      }
    }
    for (const Sentence &sentence : sentences)
      if (error.description.starts_with(sentence.prefix))
        return explain(*value, where, sentence.keyword, error.description);
  }

  /// valijson finds a bad property name, but says nothing.
  void checkPropertyNames(const Json &value, const SchemaNodes &where) {
    if (value.isObject()) {
      for (const Json::Member &member : value.members()) {
        for (const Json *node : where.nodes)
          if (const Json *names = keyword(*node, "propertyNames"))
            checkName(member, *names);
        checkPropertyNames(member.value, schemaMember(schema, where, member.key, member.value));
      }
    } else if (value.isArray()) {
      for (size_t i = 0; i < value.elements().size(); ++i)
        checkPropertyNames(value.elements()[i],
                           schemaElement(schema, where, i, value.elements()[i]));
    }
  }

  std::vector<Diagnostic> take() {
    std::stable_sort(found.begin(), found.end(), [](const Diagnostic &a, const Diagnostic &b) {
      return std::pair(a.location.line, a.location.column) <
             std::pair(b.location.line, b.location.column);
    });
    return std::move(found);
  }

  bool isEmpty() const { return found.empty(); }

  void add(const Location &location, const char *code, std::string message,
           std::vector<Note> notes = {}) {
    for (const Diagnostic &other : found)
      if (other.location == location && other.message == message)
        return; // valijson says the same thing once for each way that leads there
    found.push_back({location, code, std::move(message), std::move(notes)});
  }

private:
  void explain(const Json &value, const SchemaNodes &where, const std::string &rule,
               const std::string &description) {
    if (rule == "additionalProperties")
      return unknownFields(value, where);
    if (rule == "required" || rule == "dependencies")
      return missingField(value, where, rule, quotedPart(description, 0));
    if (rule == "anyOf" || rule == "oneOf")
      return choice(value, where, rule, description);
    for (const Json *node : where.nodes)
      if (const Json *text = keyword(*node, rule.c_str()); text && isBroken(value, rule, *text))
        brokenRule(value, rule, *text);
  }

  /// Where several schemas have the same keyword, only the one that the value breaks is meant.
  static bool isBroken(const Json &value, const std::string &rule, const Json &text) {
    if (rule == "type") {
      std::vector<std::string> names = typeNames(text);
      return std::none_of(names.begin(), names.end(),
                          [&](const std::string &name) { return isOfType(value, name); });
    }
    if (rule == "const")
      return !sameJson(value, text);
    if (rule == "enum")
      return text.isArray() &&
             std::none_of(text.elements().begin(), text.elements().end(),
                          [&](const Json &word) { return sameJson(word, value); });
    if (rule == "minimum" || rule == "exclusiveMinimum")
      return value.isNumber() && text.isNumber() && value.asNumber() <= text.asNumber();
    if (rule == "maximum" || rule == "exclusiveMaximum")
      return value.isNumber() && text.isNumber() && value.asNumber() >= text.asNumber();
    return true;
  }

  void brokenRule(const Json &value, const std::string &rule, const Json &text) {
    std::vector<Note> notes{{text.location(), "the rule stands here"}};
    if (rule == "type") {
      std::string names;
      for (const std::string &name : typeNames(text))
        names += (names.empty() ? "" : " or ") + name;
      return add(value.location(), "E015",
                 fmt::format("expected {}, got {}", names, describe(value)), std::move(notes));
    }
    if (rule == "enum")
      return notInEnumeration(value, text);
    auto found = ruleTexts().find(rule);
    std::string must = found != ruleTexts().end()
                           ? fmt::format(fmt::runtime(found->second), words(text))
                           : fmt::format("breaks the rule '{}': {}", rule, words(text));
    add(value.location(), "E015", fmt::format("{} {}", describe(value), must), std::move(notes));
  }

  void notInEnumeration(const Json &value, const Json &words) {
    std::vector<std::string> names;
    std::string all;
    for (const Json &word : words.elements()) {
      if (word.isString())
        names.push_back(word.asString());
      all += (all.empty() ? "" : ", ") +
             (word.isString() ? "'" + word.asString() + "'" : word.plain().dump());
    }
    std::string nearest;
    if (value.isString())
      nearest = quotedList(nearestNames(value.asString(), names));
    add(value.location(), "E015",
        fmt::format("{} is not one of {}", describe(value), printable(all, 400)),
        {{words.location(),
          "the words are declared here" + (nearest.empty() ? "" : "; nearest: " + nearest)}});
  }

  void unknownFields(const Json &value, const SchemaNodes &where) {
    for (const Json *node : where.nodes) {
      const Json *rest = keyword(*node, "additionalProperties");
      if (!rest || rest->kind() != Json::Kind::boolean || rest->asBool())
        continue;
      std::vector<std::string> known;
      if (const Json *properties = keyword(*node, "properties"))
        for (const Json::Member &property : properties->members())
          known.push_back(property.key);
      for (const Json::Member &member : value.members()) {
        if (declaresKey(*node, member.key))
          continue;
        std::string nearest = quotedList(nearestNames(member.key, known));
        Note note{{},
                  nearest.empty() ? "known fields: " + quotedList(known) : "nearest: " + nearest};
        if (known.empty())
          note.message = "no field is allowed by name here";
        add(member.keyLocation, "E014", fmt::format("unknown field '{}'", printable(member.key)),
            {std::move(note)});
      }
    }
  }

  void missingField(const Json &value, const SchemaNodes &where, const std::string &rule,
                    const std::string &name) {
    for (const Json *node : where.nodes) {
      const Json *fields = keyword(*node, rule.c_str());
      if (!fields)
        continue;
      bool listed = rule != "required";
      if (fields->isArray())
        for (const Json &field : fields->elements())
          listed = listed || (field.isString() && field.asString() == name);
      if (listed)
        return add(value.location(), "E012", fmt::format("missing field '{}'", name),
                   {{fields->location(), "required here"}});
    }
  }

  void choice(const Json &value, const SchemaNodes &where, const std::string &rule,
              const std::string &description) {
    bool several = description.find("exactly one") != std::string::npos;
    for (const Json *node : where.nodes) {
      const Json *forms = keyword(*node, rule.c_str());
      bool open = std::find(where.openChoices.begin(), where.openChoices.end(), forms) !=
                  where.openChoices.end();
      if (!forms || (!open && !several))
        continue;
      std::string names;
      for (const Json &form : forms->elements())
        names += (names.empty() ? "" : ", ") + formName(form);
      add(value.location(), "E015",
          several ? fmt::format("{} fits more than one of the forms allowed here", describe(value))
                  : fmt::format("{} fits none of the {} forms allowed here", describe(value),
                                forms->elements().size()),
          {{forms->location(), "the forms: " + names}});
    }
  }

  static std::string formName(const Json &form) {
    for (const char *name : {"title", "$ref", "const", "enum", "type", "pattern", "required"})
      if (const Json *text = keyword(form, name))
        return text->isString() ? text->asString() : words(*text);
    return words(form);
  }

  void checkName(const Json::Member &member, const Json &names) {
    std::vector<std::string> known;
    bool fits = true;
    if (const Json *pattern = keyword(names, "pattern"); pattern && pattern->isString())
      fits = std::regex_search(member.key, std::regex(pattern->asString()));
    if (const Json *list = keyword(names, "enum"); list && list->isArray()) {
      for (const Json &name : list->elements())
        if (name.isString())
          known.push_back(name.asString());
      fits = fits && std::find(known.begin(), known.end(), member.key) != known.end();
    }
    if (fits)
      return;
    std::string nearest = quotedList(nearestNames(member.key, known));
    add(member.keyLocation, "E014", fmt::format("unknown field '{}'", printable(member.key)),
        {{names.location(), nearest.empty() ? "names are declared here"
                                            : "names are declared here; nearest: " + nearest}});
  }

  const Json &document;
  const Json &schema;
  std::vector<Diagnostic> found;
};

/// std::regex recurses once a character; a text of this length still fits the stack.
constexpr size_t longestText = 16384;

void refuseLongTexts(const Json &value) {
  if (value.isString() && value.asString().size() > longestText)
    throw Error(
        value.location(), "E015",
        fmt::format("string of {} bytes is longer than {}", value.asString().size(), longestText));
  if (value.isArray())
    for (const Json &element : value.elements())
      refuseLongTexts(element);
  if (value.isObject())
    for (const Json::Member &member : value.members()) {
      if (member.key.size() > longestText)
        throw Error(
            member.keyLocation, "E015",
            fmt::format("key of {} bytes is longer than {}", member.key.size(), longestText));
      refuseLongTexts(member.value);
    }
}

/// The same values in the same order, wherever they stand.
bool isSameText(const Json &a, const Json &b) {
  if (a.kind() != b.kind())
    return false;
  switch (a.kind()) {
  case Json::Kind::null:
    return true;
  case Json::Kind::boolean:
    return a.asBool() == b.asBool();
  case Json::Kind::integer:
    return a.asInteger() == b.asInteger();
  case Json::Kind::number:
    return a.asNumber() == b.asNumber();
  case Json::Kind::string:
    return a.asString() == b.asString();
  case Json::Kind::array:
    return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(),
                      b.elements().end(), isSameText);
  case Json::Kind::object:
    break;
  }
  return std::equal(a.members().begin(), a.members().end(), b.members().begin(), b.members().end(),
                    [](const Json::Member &x, const Json::Member &y) {
                      return x.key == y.key && isSameText(x.value, y.value);
                    });
}

using valijson::adapters::NlohmannJsonAdapter;

/// A schema as valijson wants it. To make one takes longer than to check a document, most of all
/// its regular expressions, which the validator keeps.
struct CompiledSchema {
  explicit CompiledSchema(const Json &text) : text(text) {
    const nlohmann::json plain = text.plain();
    valijson::SchemaParser().populateSchema(NlohmannJsonAdapter(plain), rules);
  }
  Json text;
  valijson::Schema rules;
  valijson::Validator validator;
};

/// The schema, compiled; those of the last documents of this thread are kept. By their text: a
/// caller reads a schema again as it likes.
CompiledSchema &compiled(const Json &schema) {
  constexpr size_t mostKept = 8;
  thread_local std::list<CompiledSchema> kept; // the last one first
  auto found = std::find_if(kept.begin(), kept.end(), [&](const CompiledSchema &each) {
    return isSameText(each.text, schema);
  });
  if (found == kept.end()) {
    kept.emplace_front(schema);
    if (kept.size() > mostKept)
      kept.pop_back();
  } else {
    kept.splice(kept.begin(), kept, found);
  }
  return kept.front();
}

} // namespace

void checkSchema(const Json &document, const Json &schema) {
  refuseLongTexts(document);
  const nlohmann::json plainDocument = document.plain();
  valijson::ValidationResults results;
  bool valid = false;
  try {
    CompiledSchema &rules = compiled(schema);
    const NlohmannJsonAdapter target(plainDocument);
    // What a form of a choice lacks is written down only for a document that fits none.
    valid = rules.validator.validate(rules.rules, target, nullptr);
    if (!valid)
      rules.validator.validate(rules.rules, target, &results);
  } catch (const std::exception &error) {
    // Also std::regex_error: a pattern that is no regular expression.
    throw Error(schema.location(), "E016", fmt::format("not a usable schema: {}", error.what()));
  }
  if (valid)
    return;
  Reporter reporter(document, schema);
  for (const auto &error : results)
    reporter.report(error);
  if (reporter.isEmpty())
    reporter.checkPropertyNames(document, schemaRoot(schema, document));
  if (reporter.isEmpty())
    reporter.add(document.location(), "E015",
                 results.numErrors() == 0
                     ? "the document does not fit its schema"
                     : "the document does not fit its schema: " + results.begin()->description);
  throw Error(reporter.take());
}

} // namespace writ
