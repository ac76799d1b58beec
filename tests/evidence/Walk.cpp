//===- Walk.cpp - the steps that a package is judged over -----------------===//
#include "tests/evidence/Walk.h"

#include <algorithm>
#include <cstring>

namespace writ::test {
namespace {

constexpr int64_t kPrefill = 3; ///< rows that all ops are evaluated for; the reference is slow
constexpr int64_t kFill = 64;   ///< rows of a step that only stores a history
constexpr int64_t kChunk = 256; ///< KV positions whose partials are merged
constexpr int64_t kPenaltyTokens = 64;

Bytes bytesOf(const void *data, size_t size) {
  const auto *from = static_cast<const std::byte *>(data);
  return {from, from + size};
}

} // namespace

Package::Package(const std::string &path) {
  writ_error error;
  if (writ_package_open(path.c_str(), nullptr, &package, &error) != WRIT_OK)
    throw Fault(error.text);
}

Package::~Package() {
  writ_package_close(package, nullptr);
}

Walk::Walk(const writ_package *package, const Facts &facts, Judge &judge, int64_t history)
    : package(package), facts(facts), judge(judge), history(history) {}

void Walk::expect(writ_status status, const writ_error &error) const {
  if (status != WRIT_OK)
    throw Fault(error.text);
}

/// The same tokens in every session: a linear congruence, no library's generator.
int32_t Walk::token() {
  random = random * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int32_t>((random >> 33) % static_cast<uint64_t>(facts.circuit().vocabulary));
}

void Walk::run(const Variant &variant) {
  writ_session_options options;
  writ_session_options_init(&options);
  options.context_tokens = history + 8;
  options.max_rows = kFill;
  options.max_sequences = 2;
  options.max_outputs = kFill;
  options.page_size = 16; // histories cross pages, tiles and chunks at other places
  options.threads = variant.threads;
  options.isa = variant.isa;
  options.page_order_seed = 7;
  options.poison = 1;
  options.trace = Judge::trace;
  options.trace_user = &judge;
  writ_error error;
  expect(writ_session_create(package, &options, &session, &error), error);
  judge.beginSession(!ran.empty());
  random = 1;
  for (int i = 0; i < 2; ++i) {
    tokens[i].clear();
    expect(writ_sequence_create(session, &sequences[i], &error), error);
  }
  const auto length = [&] { return static_cast<int64_t>(tokens[0].size()); };
  const std::vector<Row> one(1, {0, true}), fill(kFill, {0, false});
  // The first step of each phase shows where outputs lie; from the next on they are poisoned.
  step(Scope::state, std::vector<Row>(2, {1, true}));
  step(Scope::state, {{1, true}});
  step(Scope::all, std::vector<Row>(kPrefill, {0, true}));
  step(Scope::all, one);
  while (length() < std::min(history, kChunk) - 2)
    step(Scope::state,
         {fill.begin(), fill.begin() + std::min(kFill, std::min(history, kChunk) - 2 - length())});
  step(Scope::positions, std::vector<Row>(4, {0, false}));
  while (length() < history)
    step(Scope::state, {fill.begin(), fill.begin() + std::min(kFill, history - length())});
  step(Scope::all, {{0, true}, {1, true}});
  expect(writ_session_destroy(session, &error), error);
  ran.push_back(variant);
}

void Walk::step(Scope scope, const std::vector<Row> &rows) {
  std::vector<writ_step_row> feed;
  std::vector<int32_t> fed, positions;
  for (const Row &row : rows) {
    fed.push_back(token());
    positions.push_back(static_cast<int32_t>(tokens[row.sequence].size()));
    tokens[row.sequence].push_back(fed.back());
    feed.push_back({sequences[row.sequence], fed.back(), row.output});
  }
  if (ran.empty())
    done.push_back(
        {static_cast<int64_t>(rows.size()),
         1 + int64_t(std::any_of(rows.begin(), rows.end(),
                                 [&](const Row &row) { return row.sequence != rows[0].sequence; })),
         *std::max_element(positions.begin(), positions.end()), scope});
  judge.beginStep(scope, fed, positions);
  writ_error error;
  expect(writ_session_step(session, feed.data(), static_cast<int64_t>(feed.size()), &error), error);
  judge.endStep();
  if (scope == Scope::all && ran.empty())
    judgeLogits(rows);
}

/// The session's logits are the reference's values of the circuit's result.
void Walk::judgeLogits(const std::vector<Row> &rows) {
  const int64_t outputs = writ_session_output_count(session);
  const size_t bytes = static_cast<size_t>(facts.circuit().vocabulary) * sizeof(float);
  const Bytes *made = judge.value(facts.circuit().result);
  if (!made || made->size() != bytes * static_cast<size_t>(outputs)) {
    judge.fault("the result '" + facts.circuit().result + "' was not evaluated for every output");
    return;
  }
  Bytes got;
  for (int64_t i = 0; i < outputs; ++i) {
    const Bytes row = bytesOf(writ_session_logits(session, i), bytes);
    got.insert(got.end(), row.begin(), row.end());
  }
  if (got != *made)
    judge.fault("the session's logits are not those of '" + facts.circuit().result + "'");
  judgeLogProbability(outputs);
  int64_t output = 0;
  for (const Row &row : rows)
    if (row.output) {
      // Only the last row of a sequence has all of its tokens before it.
      if (&row == &rows.back() || rows.back().sequence != row.sequence)
        judgeSampling(output, row.sequence);
      ++output;
    }
}

void Walk::judgeLogProbability(int64_t outputs) {
  const Op &op = facts.hostOp("log_probability");
  const int64_t vocabulary = facts.circuit().vocabulary;
  std::vector<int32_t> scored;
  for (int64_t i = 0; i < outputs; ++i)
    scored.push_back(static_cast<int32_t>((i * 37 + 5) % vocabulary));
  std::vector<float> got(scored.size());
  writ_error error;
  expect(writ_session_log_probabilities(session, 0, outputs, scored.data(), got.data(), &error),
         error);
  reference::Call call = facts.referenceCall(op);
  call.dimensions["rows"] = outputs;
  call.rows.token = scored;
  Bytes logits = *judge.value(facts.circuit().result), expected(scored.size() * 4, kPoison);
  call.operands["logits"] = {"f32", {outputs, vocabulary}, logits};
  call.operands["out"] = {"f32", {outputs, 1}, expected};
  reference::findReference(op.map->contractOracle)(call);
  judge.judgeHost(op, "out", expected, bytesOf(got.data(), got.size() * 4));
}

void Walk::judgeSampling(int64_t output, int sequence) {
  const Op &op = facts.hostOp("sample");
  const int64_t vocabulary = facts.circuit().vocabulary;
  const std::vector<int32_t> &past = tokens[sequence];
  const size_t bytes = static_cast<size_t>(vocabulary) * sizeof(float);
  const struct {
    float temperature, topP, minP, penalty;
    int64_t topK;
  } settings[] = {{0, 1, 0, 1, 0}, {1.0f, 1, 0, 1, 0}, {0.7f, 0.9f, 0.02f, 1.2f, 40}};
  for (const auto &setting : settings) {
    writ_sampling sampling;
    writ_sampling_init(&sampling);
    sampling.temperature = setting.temperature;
    sampling.top_p = setting.topP;
    sampling.min_p = setting.minP;
    sampling.repeat_penalty = setting.penalty;
    sampling.top_k = setting.topK;
    sampling.seed = 11;
    sampling.stream = 3;
    int32_t got = -2;
    writ_error error;
    expect(writ_session_sample(session, output, 1, &sampling, &got, &error), error);
    reference::Call call = facts.referenceCall(op);
    call.dimensions["rows"] = 1;
    reference::SampleRequest request;
    request.temperature = setting.temperature;
    request.topP = setting.topP;
    request.minP = setting.minP;
    request.repeatPenalty = setting.penalty;
    request.topK = setting.topK;
    request.seed = 11;
    request.stream = 3;
    request.position = past.size();
    const int64_t recent = std::min(kPenaltyTokens, static_cast<int64_t>(past.size()));
    request.recent.assign(past.end() - recent, past.end());
    call.samples = {request};
    Bytes logits = bytesOf(writ_session_logits(session, output), bytes);
    Bytes expected(sizeof(got), kPoison);
    call.operands["logits"] = {"f32", {1, vocabulary}, logits};
    call.operands["token"] = {"i32", {1, 1}, expected};
    reference::findReference(op.map->contractOracle)(call);
    judge.judgeHost(op, "token", expected, bytesOf(&got, sizeof(got)));
  }
}

} // namespace writ::test
