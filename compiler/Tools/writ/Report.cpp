//===- Report.cpp - which providers were considered, and why --------------===//
#include "compiler/Tools/writ/Report.h"

namespace writ::tool {
namespace {

nlohmann::ordered_json decisionOf(const CompiledModel &model, const ResolvedRequirement &resolved) {
  const Requirement &requirement = resolved.requirement;
  nlohmann::ordered_json decision;
  decision["family"] = requirement.op;
  decision["phase"] = requirement.phase;
  decision["contract"] = requirement.contract;
  decision["target"] = requirement.target;
  decision["storage"] = requirement.storage;
  decision["dimensions"] = requirement.dimensions;
  decision["attributes"] = requirement.attributes;
  decision["provider"] = resolved.resolution.provider;
  decision["isa"] = resolved.resolution.isa;
  decision["partition"] = resolved.resolution.partition;
  nlohmann::ordered_json rejected = nlohmann::ordered_json::array();
  for (const Candidate &candidate : candidates(model.catalog, requirement))
    if (!candidate.differences.empty())
      rejected.push_back({{"provider", candidate.provider}, {"because", candidate.reasons}});
  decision["rejected"] = rejected;
  return decision;
}

nlohmann::ordered_json callsOf(const std::vector<Call> &calls) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Call &call : calls) {
    nlohmann::ordered_json weights = nlohmann::ordered_json::object();
    for (const CallArgument &argument : call.arguments)
      if (const CallWeight *weight = std::get_if<CallWeight>(&argument.value))
        weights[argument.name] = weight->name;
    list.push_back({{"op", call.op}, {"provider", call.provider}, {"weights", weights}});
  }
  return list;
}

} // namespace

nlohmann::ordered_json reportOf(const CompiledModel &model) {
  nlohmann::ordered_json report;
  report["schema"] = "writ.report.v1";
  report["parameters"] = model.instance.integers;
  for (const auto &[name, value] : model.instance.numbers)
    report["parameters"][name] = value;
  report["memory"] = {{"weights_bytes", model.call.weightsBytes},
                      {"kv_bytes_per_token", model.call.kvBytesPerToken},
                      {"row_arena_bytes", model.call.rowArenaBytes},
                      {"output_arena_bytes", model.call.outputArenaBytes}};
  // Ops that require the same share one decision.
  nlohmann::ordered_json decisions = nlohmann::ordered_json::array();
  std::map<std::string, size_t> known;
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const ResolvedRequirement &resolved : model.resolutions) {
    const nlohmann::ordered_json decision = decisionOf(model, resolved);
    auto [it, isNew] = known.emplace(decision.dump(), decisions.size());
    if (isNew)
      decisions.push_back(decision);
    nlohmann::ordered_json &op = ops.emplace_back(
        nlohmann::ordered_json{{"op", resolved.requirement.name},
                               {"phase", resolved.requirement.phase},
                               {"decision", it->second},
                               {"circuit_line", resolved.requirement.location.line}});
    if (!resolved.requirement.parts.empty())
      op["parts"] = resolved.requirement.parts;
    if (!resolved.requirement.unfused.empty())
      op["unfused"] = resolved.requirement.unfused;
  }
  report["decisions"] = decisions;
  report["ops"] = ops;
  nlohmann::ordered_json weights = nlohmann::ordered_json::array();
  for (const PackedWeight &weight : model.call.weights)
    weights.push_back({{"name", weight.name},
                       {"tensor", weight.tensor},
                       {"storage", weight.storage},
                       {"layout", weight.layout},
                       {"shape", weight.shape},
                       {"offset", weight.offset},
                       {"bytes", weight.bytes}});
  report["weights"] = weights;
  report["calls"] = {{"prefill", callsOf(model.call.prefill)},
                     {"decode", callsOf(model.call.decode)}};
  return report;
}

} // namespace writ::tool
