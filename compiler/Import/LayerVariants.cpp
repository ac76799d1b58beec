//===- LayerVariants.cpp - kinds of layers in one section -----------------===//
#include "compiler/Import/LayerVariants.h"

#include "compiler/Support/EditDistance.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ {
namespace {

std::vector<std::string> keysOf(const std::map<std::string, std::string> &words) {
  std::vector<std::string> keys;
  for (const auto &entry : words)
    keys.push_back(entry.first);
  return keys;
}

} // namespace

LayerVariants::LayerVariants(const Json &section) : declared(section.find("variants")) {
  if (!declared)
    return;
  if (!section.find("repeat"))
    throw Error(declared->location(), "E030", "a section has variants, but does not repeat");
  for (const Json &json : declared->elements()) {
    LayerVariant variant{json.at("id").asString(), {}, &json};
    for (const Json::Member &word : json.at("words").members())
      variant.words[word.key] = word.value.asString();
    for (const LayerVariant &other : variants)
      if (other.id == variant.id)
        throw Error(json.at("id").location(), "E030",
                    fmt::format("two variants are named '{}'", variant.id),
                    {{other.json->at("id").location(), "the other stands here"}});
    if (!variants.empty() && keysOf(variants[0].words) != keysOf(variant.words))
      throw Error(json.at("words").location(), "E030",
                  fmt::format("variant '{}' has the words {}, '{}' has {}; all variants of a "
                              "section have the same",
                              variant.id, quotedList(keysOf(variant.words)), variants[0].id,
                              quotedList(keysOf(variants[0].words))),
                  {{variants[0].json->at("words").location(), "the other stands here"}});
    variants.push_back(std::move(variant));
  }
}

const LayerVariant *LayerVariants::choose(const Parameters &parameters, int64_t layer) const {
  if (!declared)
    return nullptr;
  std::vector<const LayerVariant *> fitting;
  for (const LayerVariant &variant : variants)
    if (parameters.holds(variant.json->at("when")))
      fitting.push_back(&variant);
  if (fitting.size() == 1)
    return fitting[0];
  std::vector<Note> notes;
  for (const LayerVariant *variant : fitting)
    notes.push_back(
        {variant->json->at("when").location(), fmt::format("variant '{}' fits", variant->id)});
  throw Error(declared->location(), "E030",
              fmt::format("{} variants fit layer {}; exactly one must", fitting.size(), layer),
              notes);
}

void LayerVariants::requireAllUsed(const std::set<std::string> &used) const {
  if (!declared)
    return;
  for (const Json::Member &word : variants.at(0).json->at("words").members())
    if (!used.contains(word.key))
      throw Error(word.keyLocation, "E035",
                  fmt::format("word '{}' is used by nothing; remove it or use it", word.key));
}

} // namespace writ
