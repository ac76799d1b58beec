//===- Score.cpp - `writ score` -------------------------------------------===//
#include "compiler/Import/SafetensorsWriter.h"
#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/ProgressLine.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/TokenIds.h"
#include "writ/model_abi.h"

#include <cmath>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace writ::tool {
namespace {

/// Takes the logits of one chunk after the other: digest, log-probabilities, file.
struct Scorer {
  const std::vector<int32_t> &ids;
  int64_t vocabulary;
  std::vector<float> logProbabilities; ///< of ids[1 ..]
  Sha256Stream digest;
  std::optional<SafetensorsWriter> file;
  std::vector<float> row;
  int64_t rows = 0;
  std::exception_ptr failure{}; ///< none may leave a callback

  static int32_t take(void *user, writ_session *session, int64_t first, int64_t count) {
    Scorer &self = *static_cast<Scorer *>(user);
    try {
      return self.takeRows(session, first, count) ? 0 : 1;
    } catch (...) {
      self.failure = std::current_exception();
      return 1;
    }
  }

  bool takeRows(writ_session *session, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const float *logits = writ_session_logits(session, i);
      std::memcpy(row.data(), logits, row.size() * sizeof(float));
      for (float &value : row)
        if (std::isnan(value)) {
          const uint32_t canonical = 0x7fc00000;
          std::memcpy(&value, &canonical, sizeof value);
        }
      const std::string_view bytes(reinterpret_cast<const char *>(row.data()),
                                   row.size() * sizeof(float));
      digest.update(bytes);
      if (file)
        file->write(bytes);
    }
    rows += count;
    // Row i gives the distribution of token i + 1; the last row's has no token to score.
    const int64_t scored = std::min<int64_t>(count, int64_t(ids.size()) - 1 - first);
    if (scored <= 0)
      return true;
    std::vector<float> values(scored);
    writ_error error;
    check(writ_session_log_probabilities(session, 0, scored, ids.data() + first + 1, values.data(),
                                         &error),
          error, "log-probability");
    logProbabilities.insert(logProbabilities.end(), values.begin(), values.end());
    return true;
  }
};

std::vector<int32_t> idsToScore(const writ_package *package, const ScoreCommand &command) {
  if (command.idsFile)
    return parseIds(readFile(*command.idsFile), *command.idsFile);
  const int32_t special = command.noSpecial ? 0 : WRIT_TOKENIZE_PARSE_SPECIAL;
  return tokenizeText(package, readFile(*command.textFile), WRIT_TOKENIZE_ADD_SPECIAL | special);
}

double perplexity(const std::vector<float> &logProbabilities) {
  double sum = 0;
  for (float value : logProbabilities)
    sum += value;
  return std::exp(-sum / double(logProbabilities.size()));
}

nlohmann::ordered_json report(const Scorer &scorer, const writ_package_info &info,
                              const writ_session *session, std::string digest) {
  const writ_session_options used = usedOptions(session);
  nlohmann::ordered_json json;
  json["model_sha256"] = info.model_sha256;
  json["ids"] = scorer.ids;
  nlohmann::json values = nlohmann::json::array({nullptr});
  for (float value : scorer.logProbabilities)
    values.push_back(double(value));
  json["logprobs"] = values;
  if (scorer.logProbabilities.empty())
    json["perplexity"] = nullptr;
  else
    json["perplexity"] = perplexity(scorer.logProbabilities);
  json["logits_sha256"] = std::move(digest);
  json["rows"] = scorer.rows;
  json["vocab"] = scorer.vocabulary;
  json["profile"] = info.profile;
  json["threads"] = used.threads;
  json["chunk"] = used.max_rows;
  json["isa"] = writ_isa_name(used.isa);
  return json;
}

} // namespace

int runScore(const ScoreCommand &command) {
  const volatile int32_t *stop = interruptFlag();
  PackagePtr package = openTarget(command.target, command.compile, command.session.verify);
  const std::vector<int32_t> ids = idsToScore(package.get(), command);
  if (ids.empty())
    throw Error({command.target}, "E051", "there is nothing to score; give at least one token");
  const writ_package_info info = packageInfo(package.get());
  const int64_t count = int64_t(ids.size());
  ReadingLine reading("scoring", count);
  SessionPtr session = openSession(package.get(), command.session, {count, count, true, &reading});
  writ_sequence sequence;
  writ_error error;
  check(writ_sequence_create(session.get(), &sequence, &error), error, command.target);

  Scorer scorer{ids, info.vocabulary, {}, {}, {}, std::vector<float>(info.vocabulary), 0, {}};
  if (!command.logits.empty())
    scorer.file.emplace(command.logits,
                        std::vector<SafetensorsEntry>{{"logits", "F32", {count, info.vocabulary}}});
  const writ_status status =
      writ_sequence_feed(session.get(), sequence, ids.data(), count, WRIT_OUTPUTS_ALL, Scorer::take,
                         &scorer, stop, &error);
  reading.clear();
  if (scorer.failure)
    std::rethrow_exception(scorer.failure);
  if (status == WRIT_STOPPED && *stop)
    return exitInterrupted;
  check(status, error, command.target);
  if (scorer.file)
    scorer.file->commit();
  const nlohmann::ordered_json json = report(scorer, info, session.get(), scorer.digest.finish());
  if (command.json)
    printLine(json.dump());
  else
    printLine(fmt::format("tokens {}, perplexity {}, logits sha256 {}", scorer.rows,
                          json["perplexity"].dump(), json["logits_sha256"].get<std::string>()));
  return exitOk;
}

} // namespace writ::tool
