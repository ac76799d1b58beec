//===- RopeScaling.cpp - how a model scales its rotary frequencies --------===//
#include "compiler/Import/RopeScaling.h"

#include "compiler/Support/EditDistance.h"
#include "compiler/Support/Utf8.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>

namespace writ {
namespace {

std::string readWord(const Json &rule, const ModelFile &model, Parameters &parameters) {
  const std::string &key = rule.at("key").asString();
  parameters.consume(key);
  const MetadataValue *found = model.find(key);
  if (!found)
    return rule.at("default").asString();
  std::vector<std::string> words;
  for (const Json &word : rule.at("words").elements())
    words.push_back(word.asString());
  const std::string *text = found->asString();
  if (!text || std::find(words.begin(), words.end(), *text) == words.end())
    throw Error({model.path()}, "E033",
                fmt::format("metadata key '{}' is {}, expected {}", key,
                            text ? "'" + printable(*text) + "'" : found->type, quotedList(words)),
                {{rule.location(), "the circuit computes these"}});
  return *text;
}

double positive(const Json &at, const char *what, const Parameters &parameters) {
  const double value = parameters.number(at);
  if (!(value > 0) || !std::isfinite(value))
    throw Error(
        at.location(), "E033",
        fmt::format("the rotary scaling's {} is {}, expected a positive number", what, value));
  return value;
}

std::vector<float> readFactors(const ModelFile &model, const TensorInfo &tensor,
                               int64_t dimensions) {
  if (std::string(tensor.storage->name) != "f32" ||
      tensor.shape != std::vector<int64_t>{dimensions / 2})
    throw Error({model.path()}, "E033",
                fmt::format("tensor '{}' is {} [{}], expected f32 [{}]: one divisor for each "
                            "rotary pair",
                            tensor.name, tensor.storage->name, fmt::join(tensor.shape, ", "),
                            dimensions / 2));
  std::vector<float> factors(static_cast<size_t>(dimensions / 2));
  model.read(tensor, 0, std::as_writable_bytes(std::span(factors)));
  for (const float factor : factors)
    if (!(factor > 0) || !std::isfinite(factor))
      throw Error({model.path()}, "E033",
                  fmt::format("tensor '{}' holds {}, expected positive divisors of the rotary "
                              "frequencies",
                              tensor.name, factor));
  return factors;
}

} // namespace

RopeScaling readRopeScaling(const Json &rule, const ModelFile &model, Parameters &parameters,
                            int64_t dimensions, std::set<std::string> &usedTensors) {
  RopeScaling scaling;
  scaling.word = readWord(rule.at("type"), model, parameters);
  const auto read = [&](const char *field, double &value) {
    if (const Json *given = rule.find(field))
      value = positive(*given, field, parameters);
  };
  read("factor", scaling.factor);
  read("original_context", scaling.originalContext);
  read("beta_fast", scaling.betaFast);
  read("beta_slow", scaling.betaSlow);
  read("attention_factor", scaling.attentionFactor);
  if (const Json *factors = rule.find("factors"))
    if (const TensorInfo *tensor = model.findTensor(factors->asString())) {
      scaling.factors = readFactors(model, *tensor, dimensions);
      usedTensors.insert(tensor->name);
    }
  return scaling;
}

} // namespace writ
