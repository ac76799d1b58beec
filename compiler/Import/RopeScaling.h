//===- RopeScaling.h - how a model scales its rotary frequencies ----------===//
#pragma once

#include "compiler/Import/Parameters.h"

#include <set>
#include <string>
#include <vector>

namespace writ {

/// One of the circuit's `rope_scalings` for one model: a word of the vocabulary's list
/// 'frequency_scaling' and the numbers that its formula takes.
struct RopeScaling {
  std::string word = "none";
  double factor = 1, originalContext = 0, betaFast = 0, betaSlow = 0;
  double attentionFactor = 1; ///< on q and k each, beside what the word itself brings
  std::vector<float> factors; ///< divisors of the frequencies; empty where there are none
};

/// Reads a scaling: its word from the metadata or the circuit's default, its numbers from the
/// parameters, its divisors from a tensor, whose name goes to `usedTensors`. E033 where a value is
/// not one of the circuit's words, no positive number, or no f32 tensor of `dimensions` / 2
/// elements.
RopeScaling readRopeScaling(const Json &rule, const ModelFile &model, Parameters &parameters,
                            int64_t dimensions, std::set<std::string> &usedTensors);

} // namespace writ
