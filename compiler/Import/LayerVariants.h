//===- LayerVariants.h - kinds of layers in one section (private) ---------===//
//
// A section that repeats may declare variants: kinds of layers that alternate ("five of six local,
// the sixth global"). Each has a condition on the layer's index, of which exactly one holds for
// every layer, and words. The ops of the section are written once and say "{word}" where the kinds
// differ: in the names of inputs, tensors and KV groups, and in attributes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Import/Parameters.h"

#include <vector>

namespace writ {

struct LayerVariant {
  std::string id;
  std::map<std::string, std::string> words;
  const Json *json;
};

class LayerVariants {
public:
  /// E030 where two variants have one id, or not the same words.
  explicit LayerVariants(const Json &section);

  /// The variant of the layer that the parameters are set to; null where the section has none. E030
  /// where no condition holds, or several.
  const LayerVariant *choose(const Parameters &parameters, int64_t layer) const;
  /// E035 for the first word that is not in `used`.
  void requireAllUsed(const std::set<std::string> &used) const;

private:
  const Json *declared;
  std::vector<LayerVariant> variants;
};

} // namespace writ
