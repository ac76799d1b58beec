//===- generate.cpp - from a prompt to text -------------------------------===//

#include "scheduler/session.h"
#include "scheduler/stop_strings.h"
#include "support/error.h"

#include <chrono>

namespace writ {
namespace {

class Stopwatch {
public:
  int64_t nanoseconds() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

writ_status readStopStrings(const writ_generate_options &options, std::vector<std::string> *strings,
                            writ_error *error) {
  if (options.stop_count < 0 || (options.stop_count > 0 && !options.stop_strings))
    return report(error, WRIT_INVALID_ARGUMENT, "stop_count is {} and stop_strings is {}",
                  options.stop_count, options.stop_strings ? "set" : "null");
  for (int64_t i = 0; i < options.stop_count; ++i) {
    const char *string = options.stop_strings[i];
    if (!string || !*string)
      return report(error, WRIT_INVALID_ARGUMENT, "stop_strings[{}] is {}, expected text", i,
                    string ? "empty" : "null");
    strings->push_back(string);
  }
  return WRIT_OK;
}

} // namespace

writ_status Session::generate(writ_sequence handle, const int32_t *ids, int64_t count,
                              const writ_generate_options &options, writ_generate_result *result,
                              writ_error *error) {
  std::vector<std::string> strings;
  if (const writ_status status = readStopStrings(options, &strings, error); status != WRIT_OK)
    return status;
  if (options.max_tokens < 0)
    return report(error, WRIT_INVALID_ARGUMENT, "max_tokens is {}, expected 0 or more",
                  options.max_tokens);
  writ_sampling checked;
  if (const writ_status status = readSampling(options.sampling, &checked, error); status != WRIT_OK)
    return status;
  if (options.max_tokens > 0 && !package.model().sample)
    return report(error, WRIT_UNSUPPORTED, "this package has no provider of 'sample'");
  const Stopwatch prefill;
  const writ_status fed =
      feed(handle, ids, count, options.max_tokens > 0 ? WRIT_OUTPUTS_LAST : WRIT_OUTPUTS_NONE,
           nullptr, nullptr, options.stop, error);
  if (fed == WRIT_STOPPED) {
    result->finish = WRIT_FINISH_STOPPED;
    return WRIT_OK;
  }
  if (fed != WRIT_OK)
    return fed;
  result->prompt_tokens = count;
  result->prefill_nanoseconds = prefill.nanoseconds();

  StopStrings stopStrings(std::move(strings));
  StreamingDecoder decoder;
  const auto show = [&](const std::string &text) {
    return text.empty() || !options.callback || !callbackStops([&] {
             return options.callback(options.user, text.data(), int64_t(text.size()));
           });
  };
  const SequenceId sequence = *sequenceTable.find(handle);
  const Stopwatch decode;
  result->finish = WRIT_FINISH_LENGTH;
  writ_status status = WRIT_OK;
  for (int64_t i = 0; i < options.max_tokens; ++i) {
    if (stopped(options.stop)) {
      result->finish = WRIT_FINISH_STOPPED;
      break;
    }
    int32_t token = -1;
    if (status = sample(0, 1, options.sampling, &token, error); status != WRIT_OK)
      break;
    if (options.tokens)
      options.tokens[i] = token;
    ++result->generated_tokens;
    if (!options.ignore_end && package.endsGeneration(token)) {
      result->finish = WRIT_FINISH_END;
      break;
    }
    const std::string text =
        stopStrings.push(decoder.push(package.tokenizer().piece(token, /*special=*/false)));
    if (!show(text)) {
      result->finish = WRIT_FINISH_STOPPED;
      break;
    }
    if (stopStrings.met()) {
      result->finish = WRIT_FINISH_STRING;
      break;
    }
    if (i + 1 == options.max_tokens)
      break;
    if (sequenceTable.length(sequence).raw() == settings.context_tokens) {
      result->finish = WRIT_FINISH_CONTEXT;
      break;
    }
    const writ_step_row row{handle, token, 1};
    status = step(&row, 1, options.stop, error);
    if (status == WRIT_STOPPED) {
      result->finish = WRIT_FINISH_STOPPED;
      status = WRIT_OK;
      break;
    }
    if (status != WRIT_OK)
      break;
    ++result->decode_steps;
  }
  result->decode_nanoseconds = decode.nanoseconds();
  if (result->finish != WRIT_FINISH_STRING && result->finish != WRIT_FINISH_STOPPED) {
    std::string rest = stopStrings.push(decoder.finish());
    if (stopStrings.met())
      result->finish = WRIT_FINISH_STRING;
    rest += stopStrings.finish();
    if (!show(rest))
      result->finish = WRIT_FINISH_STOPPED;
  }
  return status;
}

} // namespace writ
