//===- SchemaNodes.h - which parts of a schema speak about a value --------===//
//
// valijson says that a document breaks a rule and names the place in words. To print the rule, the
// position and the nearest names, the schemas that apply at that place are found here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Support/Json.h"

#include <set>
#include <string>
#include <vector>

namespace writ {

/// The schemas that apply to one value.
struct SchemaNodes {
  std::vector<const Json *> nodes;
  /// An `anyOf` or `oneOf` of which several forms may be meant; nothing below it is known.
  std::vector<const Json *> openChoices;
};

/// The schemas that apply to the root of the document.
SchemaNodes schemaRoot(const Json &schema, const Json &document);

/// Those that apply to a member or an element. `value` is that child.
SchemaNodes schemaMember(const Json &schema, const SchemaNodes &parent, const std::string &key,
                         const Json &value);
SchemaNodes schemaElement(const Json &schema, const SchemaNodes &parent, size_t index,
                          const Json &value);

/// Whether an object schema lets `key` pass by name (properties, patternProperties).
bool declaresKey(const Json &node, const std::string &key);

/// The named keyword of an object schema, or null (a schema may also be `true` or `false`).
const Json *keyword(const Json &node, const char *name);

/// Whether a value is of the JSON Schema type `name` ("integer", "number", …).
bool isOfType(const Json &value, const std::string &name);
/// The types that a `type` keyword lists.
std::vector<std::string> typeNames(const Json &type);

/// Equal as JSON (1 and 1.0 are equal).
bool sameJson(const Json &a, const Json &b);

} // namespace writ
