//===- Record.cpp - what a function's sweep gave --------------------------===//
#include "tests/functions/Record.h"

#include "tests/functions/Sample.h"
#include "tests/functions/StepArrays.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <mpfr.h>

namespace writ::test {
namespace {

std::string hexText(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%a", value);
  return text;
}

/// What decides over results and what is said of their error, against the record.
std::string staleness(const nlohmann::json &functions, const std::string &name,
                      const nlohmann::json &record) {
  const nlohmann::json &function = functionNamed(functions, name);
  if (record.at("steps_sha256") != stepsDigest(functions, name))
    return name +
           ": its steps are not those of its record; measure anew: function_sweep --record " + name;
  if (function.at("max_ulp") != record.at("max_ulp"))
    return name + ": functions.json states max_ulp " + function.at("max_ulp").dump() +
           ", the record has " + record.at("max_ulp").dump();
  return "";
}

uint64_t strideOf(const nlohmann::json &function) {
  return isSampled(function) ? kSampledStride : kRecordedStride;
}

std::string exceeds(const nlohmann::json &function, const std::string &name,
                    const SweepResult &result) {
  if (result.maxUlp > function.at("max_ulp").get<double>())
    return name + ": " + std::to_string(result.maxUlp) + " ulp at " + hexText(result.worstAt) +
           ", more than the stated " + function.at("max_ulp").dump();
  if (!function.contains("max_ulp_from"))
    return "";
  const std::string below = function.at("max_error_below");
  if (!(result.largestBelow <= std::strtod(below.c_str(), nullptr)))
    return name + ": an error of " + hexText(result.largestBelow) +
           " below max_ulp_from, more than the stated " + below;
  return "";
}

} // namespace

bool canSweep() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

std::string recordPath(const std::string &function) {
  return WRIT_SOURCE_DIR "/tests/data/functions/" + function + ".json";
}

nlohmann::json readRecord(const std::string &function) {
  std::ifstream file(recordPath(function));
  if (!file)
    throw std::runtime_error(function + " has no record " + recordPath(function) +
                             "; function_sweep --record " + function + " makes one");
  return nlohmann::json::parse(file);
}

SweepResult wholeResult(const nlohmann::json &functions, const std::string &name,
                        const SweepOptions &options) {
  return isSampled(functionNamed(functions, name))
             ? sample(functions, name, 1)
             : sweep(functions, name, productionForms(name), options);
}

SweepResult stridedResult(const nlohmann::json &functions, const std::string &name,
                          const std::vector<Production> &production) {
  const nlohmann::json &function = functionNamed(functions, name);
  return isSampled(function) ? sample(functions, name, strideOf(function))
                             : sweep(functions, name, production, {strideOf(function), 1, {}});
}

void writeRecord(const nlohmann::json &functions, const std::string &name, const SweepResult &whole,
                 const SweepResult &strided, double seconds) {
  const nlohmann::json &function = functionNamed(functions, name);
  const bool sampled = isSampled(function);
  nlohmann::ordered_json record = {
      {"schema", "writ.function_sweep.v1"},
      {"function", name},
      {"steps_sha256", stepsDigest(functions, name)},
      {"arguments",
       sampled ? kSampledArguments : "all 2^32 binary32 patterns, ascending as unsigned integers"},
      {"results",
       sampled ? "SHA-256 of all results of each argument, in order; little-endian binary64"
               : "SHA-256 of the 256 SHA-256 digests of 2^24 results each, in order; little-endian "
                 "binary32, a NaN as 0x7fc00000"},
      {"sha256", whole.digest},
      {"max_ulp", statedUlp(whole.maxUlp)},
      {"max_ulp_at", hexText(whole.worstAt)},
      {"strided", {{"stride", strideOf(function)}, {"sha256", strided.digest}}},
      {"provenance",
       {{"command", "function_sweep --record " + name},
        {"oracle", "MPFR " + std::string(mpfr_get_version()) +
                       (sampled ? ", 320 bits" : ", 320 bits, after binary64")},
        {"decided_by_mpfr", whole.decided},
        {"screening_error_ulp", hexText(whole.screeningError)},
        {"kernel_forms", whole.forms},
        {"seconds", std::round(seconds)}}}};
  std::ofstream(recordPath(name)) << record.dump(1) << "\n";
}

std::string differenceFromRecord(const nlohmann::json &functions, const std::string &name,
                                 const SweepResult &whole) {
  const nlohmann::json record = readRecord(name);
  if (!whole.fault.empty())
    return whole.fault;
  if (std::string stale = staleness(functions, name, record); !stale.empty())
    return stale;
  if (record.at("sha256") != whole.digest)
    return name + ": results have the digest " + whole.digest + ", the record " +
           record.at("sha256").get<std::string>();
  if (record.at("max_ulp") != statedUlp(whole.maxUlp))
    return name + ": max_ulp is " + std::to_string(statedUlp(whole.maxUlp)) + ", the record has " +
           record.at("max_ulp").dump();
  return exceeds(functionNamed(functions, name), name, whole);
}

std::string stridedDifference(const nlohmann::json &functions, const std::string &name,
                              const SweepResult &strided) {
  const nlohmann::json record = readRecord(name);
  if (!strided.fault.empty())
    return strided.fault;
  if (std::string stale = staleness(functions, name, record); !stale.empty())
    return stale;
  const uint64_t stride = strideOf(functionNamed(functions, name));
  if (record.at("strided").at("stride") != stride ||
      record.at("strided").at("sha256") != strided.digest)
    return name + ": every " + std::to_string(stride) + "th result has the digest " +
           strided.digest + ", the record " + record.at("strided").at("sha256").get<std::string>();
  return exceeds(functionNamed(functions, name), name, strided);
}

} // namespace writ::test
