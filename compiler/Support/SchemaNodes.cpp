//===- SchemaNodes.cpp - which parts of a schema speak about a value ------===//
#include "compiler/Support/SchemaNodes.h"

#include <algorithm>
#include <charconv>
#include <regex>

namespace writ {

const Json *keyword(const Json &node, const char *name) {
  return node.isObject() ? node.find(name) : nullptr;
}

bool isOfType(const Json &value, const std::string &name) {
  switch (value.kind()) {
  case Json::Kind::null:
    return name == "null";
  case Json::Kind::boolean:
    return name == "boolean";
  case Json::Kind::integer:
    return name == "integer" || name == "number";
  case Json::Kind::number:
    return name == "number";
  case Json::Kind::string:
    return name == "string";
  case Json::Kind::array:
    return name == "array";
  case Json::Kind::object:
    break;
  }
  return name == "object";
}

std::vector<std::string> typeNames(const Json &type) {
  std::vector<std::string> names;
  if (type.isString())
    names.push_back(type.asString());
  else if (type.isArray())
    for (const Json &name : type.elements())
      if (name.isString())
        names.push_back(name.asString());
  return names;
}

bool sameJson(const Json &a, const Json &b) {
  return a.plain() == b.plain();
}

static bool matches(const std::string &text, const std::string &pattern) {
  try {
    return std::regex_search(text, std::regex(pattern));
  } catch (const std::regex_error &) {
    return false; // the check itself has refused such a schema
  }
}

bool declaresKey(const Json &node, const std::string &key) {
  if (const Json *properties = keyword(node, "properties"); properties && properties->isObject())
    if (properties->contains(key))
      return true;
  if (const Json *patterns = keyword(node, "patternProperties"); patterns && patterns->isObject())
    for (const Json::Member &pattern : patterns->members())
      if (matches(key, pattern.key))
        return true;
  return false;
}

/// A token of a JSON pointer without its escapes (~0 is '~', ~1 is '/').
static std::string unescapePointer(std::string_view token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    bool escaped = token[i] == '~' && i + 1 < token.size();
    text += !escaped ? token[i] : token[++i] == '1' ? '/' : '~';
  }
  return text;
}

/// The target of "#/a/0/b" (RFC 6901), or null.
static const Json *resolveReference(const Json &schema, std::string_view reference) {
  if (!reference.starts_with('#'))
    return nullptr;
  reference.remove_prefix(1);
  const Json *node = &schema;
  while (node && reference.starts_with('/')) {
    reference.remove_prefix(1);
    size_t end = std::min(reference.find('/'), reference.size());
    std::string token = unescapePointer(reference.substr(0, end));
    reference.remove_prefix(end);
    if (node->isObject()) {
      node = node->find(token);
    } else if (node->isArray()) {
      size_t index = node->elements().size();
      std::from_chars(token.data(), token.data() + token.size(), index);
      node = index < node->elements().size() ? &node->elements()[index] : nullptr;
    } else {
      node = nullptr;
    }
  }
  return reference.empty() ? node : nullptr;
}

namespace {

/// Gathers the schemas that apply to one value: through references, conjunctions, and the form of a
/// choice that is meant.
class Gatherer {
public:
  Gatherer(const Json &schema, const Json &value) : schema(schema), value(value) {}

  void add(const Json &node) {
    if (!node.isObject() || !seen.insert(&node).second)
      return;
    if (const Json *reference = node.find("$ref"); reference && reference->isString()) {
      // Draft 7: what stands beside a reference does not count.
      if (const Json *target = resolveReference(schema, reference->asString()))
        add(*target);
      return;
    }
    result.nodes.push_back(&node);
    if (const Json *all = node.find("allOf"); all && all->isArray())
      for (const Json &part : all->elements())
        add(part);
    for (const char *name : {"then", "else"})
      if (const Json *branch = node.find(name))
        add(*branch);
    for (const char *name : {"anyOf", "oneOf"})
      if (const Json *choice = node.find(name); choice && choice->isArray())
        addChoice(*choice);
  }

  SchemaNodes result;

private:
  void addChoice(const Json &choice) {
    std::vector<const Json *> meant;
    for (const Json &form : choice.elements())
      if (!contradicts(form, 0))
        meant.push_back(&form);
    if (meant.size() == 1)
      add(*meant.front());
    else
      result.openChoices.push_back(&choice);
  }

  /// Whether the value cannot mean this form: its type, or a const or enum of a member, says so.
  bool contradicts(const Json &form, int depth) const {
    constexpr int deepest = 16; // references may go round
    if (!form.isObject() || depth > deepest)
      return false;
    if (const Json *reference = form.find("$ref"); reference && reference->isString()) {
      const Json *target = resolveReference(schema, reference->asString());
      return target && contradicts(*target, depth + 1);
    }
    if (differs(form, value))
      return true;
    const Json *properties = form.find("properties");
    if (!properties || !properties->isObject() || !value.isObject())
      return false;
    for (const Json::Member &property : properties->members()) {
      const Json *member = value.find(property.key);
      if (member && property.value.isObject() && differsInWord(property.value, *member))
        return true;
    }
    return false;
  }

  static bool differs(const Json &form, const Json &value) {
    if (const Json *type = form.find("type")) {
      std::vector<std::string> names = typeNames(*type);
      if (std::none_of(names.begin(), names.end(),
                       [&](const std::string &name) { return isOfType(value, name); }))
        return true;
    }
    return differsInWord(form, value);
  }

  static bool differsInWord(const Json &form, const Json &value) {
    if (const Json *word = form.find("const"))
      return !sameJson(*word, value);
    if (const Json *words = form.find("enum"); words && words->isArray())
      return std::none_of(words->elements().begin(), words->elements().end(),
                          [&](const Json &word) { return sameJson(word, value); });
    return false;
  }

  const Json &schema;
  const Json &value;
  std::set<const Json *> seen;
};

} // namespace

SchemaNodes schemaRoot(const Json &schema, const Json &document) {
  Gatherer gatherer(schema, document);
  gatherer.add(schema);
  return std::move(gatherer.result);
}

SchemaNodes schemaMember(const Json &schema, const SchemaNodes &parent, const std::string &key,
                         const Json &value) {
  Gatherer gatherer(schema, value);
  for (const Json *node : parent.nodes) {
    if (const Json *properties = keyword(*node, "properties"))
      if (const Json *property = keyword(*properties, key.c_str()))
        gatherer.add(*property);
    if (const Json *patterns = keyword(*node, "patternProperties");
        patterns && patterns->isObject())
      for (const Json::Member &pattern : patterns->members())
        if (matches(key, pattern.key))
          gatherer.add(pattern.value);
    if (const Json *rest = keyword(*node, "additionalProperties"); rest && !declaresKey(*node, key))
      gatherer.add(*rest);
  }
  return std::move(gatherer.result);
}

SchemaNodes schemaElement(const Json &schema, const SchemaNodes &parent, size_t index,
                          const Json &value) {
  Gatherer gatherer(schema, value);
  for (const Json *node : parent.nodes) {
    const Json *items = keyword(*node, "items");
    if (items && items->isArray() && index < items->elements().size())
      gatherer.add(items->elements()[index]);
    else if (items && items->isObject())
      gatherer.add(*items);
    else if (const Json *rest = keyword(*node, "additionalItems"))
      gatherer.add(*rest);
  }
  return std::move(gatherer.result);
}

} // namespace writ
