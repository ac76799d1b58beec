//===- outputs.cpp - what is made of logits -------------------------------===//

#include "scheduler/plan.h"
#include "scheduler/session.h"
#include "support/error.h"
#include "support/float_environment.h"
#include "support/struct_size.h"

#include <cmath>

namespace writ {
namespace {

constexpr int64_t kPenaltyTokens = 64; ///< PORTABLE.md, "Sampler"

/// An element of an array whose stride is its struct_size.
const writ_sampling &element(const writ_sampling *array, int64_t index) {
  return *reinterpret_cast<const writ_sampling *>(reinterpret_cast<const std::byte *>(array) +
                                                  index * int64_t(array->struct_size));
}

} // namespace

const float *Session::logits(int64_t index) const {
  return index >= 0 && index < outputsReady.raw() ? logitsBase + index * package.model().vocabulary
                                                  : nullptr;
}

writ_status Session::checkOutputs(int64_t first, int64_t count, const void *array, const char *name,
                                  writ_error *error) const {
  if (!array)
    return report(error, WRIT_INVALID_ARGUMENT, "{} is null", name);
  const int64_t ready = outputsReady.raw();
  if (first < 0 || count < 1 || first > ready || count > ready - first)
    return report(error, WRIT_INVALID_ARGUMENT,
                  "{} outputs from output {} on are asked for, but the last step has {}", count,
                  first, ready);
  return WRIT_OK;
}

/// Reads what a caller gave (null: greedy) and checks each field.
writ_status Session::readSampling(const writ_sampling *given, writ_sampling *out,
                                  writ_error *error) {
  if (const writ_status status =
          readOptions(given, writ_sampling_init, "writ_sampling", out, error);
      status != WRIT_OK)
    return status;
  const writ_sampling &sampling = *out;
  const auto refuse = [&](const char *field, auto value, const char *rule) {
    return report(error, WRIT_INVALID_ARGUMENT, "sampling.{} is {}, expected {}", field, value,
                  rule);
  };
  // Written so that a NaN is refused.
  if (!(sampling.temperature >= 0 && sampling.temperature < INFINITY))
    return refuse("temperature", sampling.temperature, "0 or more");
  if (!(sampling.top_p > 0 && sampling.top_p <= 1))
    return refuse("top_p", sampling.top_p, "above 0, at most 1");
  if (!(sampling.min_p >= 0 && sampling.min_p <= 1))
    return refuse("min_p", sampling.min_p, "0 to 1");
  if (!(sampling.repeat_penalty > 0 && sampling.repeat_penalty < INFINITY))
    return refuse("repeat_penalty", sampling.repeat_penalty, "above 0");
  if (sampling.top_k < 0)
    return refuse("top_k", sampling.top_k, "0 or more");
  return WRIT_OK;
}

writ_status Session::sampleParameters(int64_t output, const writ_sampling &sampling,
                                      writ_sample_parameters *parameters, writ_error *error) const {
  const OutputRow &row = rowTables.outputs[output];
  const auto sequence = sequenceTable.find(row.sequence);
  if (!sequence || sequenceTable.length(*sequence) < tokensThrough(row.position))
    return report(error, WRIT_INVALID_ARGUMENT,
                  "the sequence of output {} was released or rewound since the step", output);
  const int64_t before = tokensThrough(row.position).raw();
  const int64_t recent = std::min(before, kPenaltyTokens);
  *parameters = {sampling.temperature,
                 sampling.top_p,
                 sampling.min_p,
                 sampling.repeat_penalty,
                 sampling.top_k,
                 sampling.seed,
                 sampling.stream,
                 uint64_t(before),
                 sequenceTable.history(*sequence) + (before - recent),
                 recent};
  return WRIT_OK;
}

writ_status Session::sample(int64_t first, int64_t count, const writ_sampling *sampling,
                            int32_t *tokens, writ_error *error) {
  const writ_model_desc &model = package.model();
  if (!model.sample)
    return report(error, WRIT_UNSUPPORTED, "this package has no provider of 'sample'");
  if (const writ_status status = checkOutputs(first, count, tokens, "tokens", error);
      status != WRIT_OK)
    return status;
  for (int64_t i = 0; i < count; ++i) {
    const writ_sampling *given = sampling ? &element(sampling, i) : nullptr;
    writ_sampling chosen;
    if (const writ_status status = readSampling(given, &chosen, error); status != WRIT_OK)
      return status;
    if (given && given->struct_size != sampling->struct_size)
      return report(error, WRIT_INVALID_ARGUMENT,
                    "sampling[{}].struct_size is {}, but sampling[0].struct_size, the array's "
                    "stride, is {}",
                    i, given->struct_size, sampling->struct_size);
    if (const writ_status status =
            sampleParameters(first + i, chosen, &rowTables.parameters[i], error);
        status != WRIT_OK)
      return status;
  }
  const FloatEnvironment environment;
  const writ_step context = launchContext();
  const int64_t batch = sampleBatch(settings);
  for (int64_t done = 0; done < count; done += batch) {
    const int64_t rows = std::min(batch, count - done);
    const writ_sample_args args{logits(first + done), rows,
                                model.vocabulary,     rowTables.parameters.data() + done,
                                sampleScratch.data(), rowTables.drawn.data() + done};
    writ_launch(&context, model.call_count, model.sample, &args, rows, 1);
  }
  for (int64_t i = 0; i < count; ++i)
    if (rowTables.drawn[i] < 0)
      return report(error, WRIT_NON_FINITE, "the logits of output {} are not all finite",
                    first + i);
  std::copy_n(rowTables.drawn.data(), count, tokens);
  return WRIT_OK;
}

writ_status Session::logProbabilities(int64_t first, int64_t count, const int32_t *tokens,
                                      float *out, writ_error *error) {
  const writ_model_desc &model = package.model();
  if (!model.log_probability)
    return report(error, WRIT_UNSUPPORTED, "this package has no provider of 'log_probability'");
  if (const writ_status status = checkOutputs(first, count, tokens, "tokens", error);
      status != WRIT_OK)
    return status;
  if (!out)
    return report(error, WRIT_INVALID_ARGUMENT, "log_probabilities is null");
  for (int64_t i = 0; i < count; ++i)
    if (const writ_status status = checkToken(tokens[i], "tokens", i, error); status != WRIT_OK)
      return status;
  const FloatEnvironment environment;
  const writ_step context = launchContext();
  const writ_log_probability_args args{logits(first), tokens, count, model.vocabulary, out};
  writ_launch(&context, model.call_count + 1, model.log_probability, &args, count, 1);
  return WRIT_OK;
}

} // namespace writ
