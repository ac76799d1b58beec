//===- Registry.cpp - the entries by name ---------------------------------===//
#include "ir/Reference/Entries.h"

namespace writ::reference {
namespace {

const std::map<std::string, Entry, std::less<>> &entries() {
  static const std::map<std::string, Entry, std::less<>> table = {
      {"reference_activation", evaluateActivation},
      {"reference_attention", evaluateAttention},
      {"reference_embedding", evaluateEmbedding},
      {"reference_fused", evaluateFused},
      {"reference_gate", evaluateGate},
      {"reference_kv_store", evaluateKvStore},
      {"reference_l2_norm", evaluateL2Norm},
      {"reference_layer_norm", evaluateLayerNorm},
      {"reference_linear", evaluateLinear},
      {"reference_log_probability", evaluateLogProbability},
      {"reference_quantize_activation", evaluateQuantizeActivation},
      {"reference_residual", evaluateResidual},
      {"reference_rms_norm", evaluateRmsNorm},
      {"reference_rope", evaluateRope},
      {"reference_rope_frequencies", evaluateRopeFrequencies},
      {"reference_rope_table", evaluateRopeTable},
      {"reference_sample", evaluateSample},
      {"reference_select_rows", evaluateSelectRows},
      {"reference_soft_cap", evaluateSoftCap}};
  return table;
}

} // namespace

Entry findReference(std::string_view name) {
  auto found = entries().find(name);
  return found == entries().end() ? nullptr : found->second;
}

void readContract(const nlohmann::json &contract, const nlohmann::json &vocabulary,
                  const nlohmann::json &functions) {
  const std::string family = contract.value("family", "");
  const Entry entry = findReference("reference_" + family);
  if (!entry)
    throw ContractError(contract.value("id", ""), "family",
                        "family '" + family + "' has no entry in the reference");
  Call call;
  call.contract = &contract;
  call.vocabulary = &vocabulary;
  call.functions = &functions;
  call.readsOnly = true;
  entry(call);
}

std::vector<std::string> referenceNames() {
  std::vector<std::string> names;
  for (const auto &[name, entry] : entries())
    names.push_back(name);
  return names;
}

} // namespace writ::reference
