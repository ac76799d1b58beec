#include "toy_model.h"

#include <cmath>
#include <cstring>

namespace toy {
namespace {

uint64_t mix(uint64_t state, uint64_t word) {
  uint64_t z = state + 0x9e3779b97f4a7c15u + word;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A number that is 0 where subnormals are flushed or read as zero, and other bits where rounding
/// is not to nearest.
uint64_t environmentWord() {
  volatile float tiny = 1e-30f, factor = 1e-9f, one = 1, third = 3;
  const float subnormal = tiny * factor, rounded = one / third;
  uint32_t a, b;
  std::memcpy(&a, &subnormal, sizeof a);
  std::memcpy(&b, &rounded, sizeof b);
  return uint64_t(a) << 32 | b;
}

/// Word `w` of a head's K (plane 0) or V (plane 1), never a NaN's bits.
uint32_t kvWord(uint64_t state, int64_t layer, int64_t plane, int64_t head, int64_t word) {
  return uint32_t(mix(state, uint64_t(layer * 1000 + plane * 100 + head * 10 + word))) &
         0x7f7fffffu;
}

uint64_t embed(const uint64_t *weights, int32_t token, int32_t position) {
  return mix(weights[token % kWeightWords], uint64_t(position));
}

float logit(uint64_t state, int32_t token, int64_t v) {
  if (token == kNanToken && v == 7)
    return NAN;
  return float(int32_t(mix(state, uint64_t(v)) >> 44)) / 65536.0f - 8.0f;
}

struct Args {
  const writ_step *step;
  int64_t group;
  int64_t layer;
};

uint64_t *states(const writ_step *step) {
  return static_cast<uint64_t *>(step->row_arena);
}

uint32_t *kvRow(const writ_kv_view &view, void *plane, int64_t layer, int64_t sequence,
                int64_t position, int64_t head) {
  const int32_t page = view.block_table[sequence * view.table_stride + position / view.block_size];
  return reinterpret_cast<uint32_t *>(static_cast<char *>(plane) + layer * view.layer_stride +
                                      page * view.page_stride +
                                      position % view.block_size * view.token_stride +
                                      head * kHeadWords * int64_t(sizeof(uint32_t)));
}

void embedBody(const void *arguments, int64_t begin, int64_t end) {
  const Args &args = *static_cast<const Args *>(arguments);
  for (int64_t row = begin; row < end; ++row)
    states(args.step)[row] = mix(embed(static_cast<const uint64_t *>(args.step->weights),
                                       args.step->rows->token[row], args.step->rows->position[row]),
                                 environmentWord());
}

/// One unit is one head of one row.
void storeBody(const void *arguments, int64_t begin, int64_t end) {
  const Args &args = *static_cast<const Args *>(arguments);
  const writ_kv_view &view = args.step->kv[args.group];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit / kHeads, head = unit % kHeads;
    for (int64_t plane = 0; plane < 2; ++plane) {
      uint32_t *words = kvRow(view, plane ? view.v_plane : view.k_plane, args.layer,
                              args.step->rows->sequence[row], args.step->rows->position[row], head);
      for (int64_t w = 0; w < kHeadWords; ++w)
        words[w] = kvWord(states(args.step)[row], args.group * 10 + args.layer, plane, head, w);
    }
  }
}

void attendBody(const void *arguments, int64_t begin, int64_t end) {
  const Args &args = *static_cast<const Args *>(arguments);
  const writ_kv_view &view = args.step->kv[args.group];
  for (int64_t row = begin; row < end; ++row) {
    uint64_t state = states(args.step)[row];
    for (int64_t position = 0; position <= args.step->rows->position[row]; ++position)
      for (int64_t head = 0; head < kHeads; ++head)
        for (int64_t plane = 0; plane < 2; ++plane) {
          const uint32_t *words = kvRow(view, plane ? view.v_plane : view.k_plane, args.layer,
                                        args.step->rows->sequence[row], position, head);
          for (int64_t w = 0; w < kHeadWords; ++w)
            state = mix(state, words[w]);
        }
    states(args.step)[row] = state;
  }
}

/// One unit is 16 logits; the logits lie behind 64 bytes of something else.
void logitsBody(const void *arguments, int64_t begin, int64_t end) {
  const Args &args = *static_cast<const Args *>(arguments);
  float *logits = reinterpret_cast<float *>(static_cast<char *>(args.step->output_arena) +
                                            64 * args.step->max_outputs);
  const int64_t total = args.step->rows->outputs * kVocabulary;
  for (int64_t i = begin * 16; i < end * 16 && i < total; ++i) {
    const int32_t row = args.step->rows->output_row[i / kVocabulary];
    logits[i] = logit(states(args.step)[row], args.step->rows->token[row], i % kVocabulary);
  }
}

/// Greedy; the other parameters are folded into the result where they are on, so that a test sees
/// them arrive.
void sampleBody(const void *arguments, int64_t begin, int64_t end) {
  const auto &args = *static_cast<const writ_sample_args *>(arguments);
  for (int64_t row = begin; row < end; ++row) {
    const auto &parameters = static_cast<const writ_sample_parameters *>(args.parameters)[row];
    const float *logits = args.logits + row * args.vocabulary;
    int32_t best = 0;
    bool finite = true;
    for (int64_t v = 0; v < args.vocabulary; ++v) {
      finite = finite && std::isfinite(logits[v]);
      if (logits[v] > logits[best])
        best = int32_t(v);
    }
    if (parameters.temperature > 0) {
      uint64_t state = mix(mix(parameters.seed, parameters.stream), parameters.position);
      for (int64_t i = 0; i < parameters.recent_count; ++i)
        state = mix(state, uint64_t(parameters.recent[i]));
      best = int32_t(state % uint64_t(args.vocabulary - 1));
    }
    std::memset(static_cast<char *>(args.scratch) + row * args.vocabulary * 16, 0xaa,
                size_t(args.vocabulary * 16));
    args.token[row] = finite ? best : -1;
  }
}

void logProbabilityBody(const void *arguments, int64_t begin, int64_t end) {
  const auto &args = *static_cast<const writ_log_probability_args *>(arguments);
  for (int64_t row = begin; row < end; ++row) {
    const float *logits = args.logits + row * args.vocabulary;
    double sum = 0;
    for (int64_t v = 0; v < args.vocabulary; ++v)
      sum += std::exp(double(logits[v]));
    args.out[row] = float(logits[args.token[row]] - std::log(sum));
  }
}

const writ_provider kEmbed{"toy_embed", "", {embedBody, nullptr, nullptr}};
const writ_provider kStore{"toy_store", "", {storeBody, nullptr, nullptr}};
const writ_provider kAttend{"toy_attend", "", {attendBody, nullptr, nullptr}};
const writ_provider kLogits{"toy_logits", "", {logitsBody, nullptr, nullptr}};
const writ_provider kSample{"toy_sample", "", {sampleBody, nullptr, nullptr}};
const writ_provider kLogProbability{
    "toy_log_probability", "", {logProbabilityBody, nullptr, nullptr}};

Runs counted;

void entry(const writ_step *step) {
  const int64_t rows = step->rows->count;
  uint32_t call = 0;
  const Args whole{step, 0, 0};
  writ_launch(step, call++, &kEmbed, &whole, rows, 1);
  for (int64_t group = 0; group < 2; ++group)
    for (int64_t layer = 0; layer < kLayers[group]; ++layer) {
      const Args args{step, group, layer};
      writ_launch(step, call++, &kStore, &args, rows * kHeads, 1);
      writ_launch(step, call++, &kAttend, &args, rows, 1);
    }
  writ_launch(step, call++, &kLogits, &whole, step->rows->outputs * kVocabulary, 16);
}

void prefill(const writ_step *step) {
  ++counted.prefill;
  entry(step);
}
void decode(const writ_step *step) {
  ++counted.decode;
  entry(step);
}

const writ_kv_group kGroups[2] = {
    {"f32", kLayers[0], kHeads, kHeadWords, kHeadWords *int64_t(sizeof(uint32_t)), 0},
    {"f32", kLayers[1], kHeads, kHeadWords, kHeadWords *int64_t(sizeof(uint32_t)), 0}};

writ_model_desc describe(uint32_t alike) {
  return {WRIT_MODEL_ABI,
          1,
          "toy",
          "toy_circuit",
          "portable",
          kResolution.c_str(),
          kCalls.c_str(),
          kModelFile.c_str(),
          kCircuit.c_str(),
          kProfile.c_str(),
          kVocabulary,
          kContext,
          int64_t(sizeof(uint64_t)),
          64 + kVocabulary * int64_t(sizeof(float)),
          64,
          kWeightWords * int64_t(sizeof(uint64_t)),
          2,
          kGroups,
          0,
          nullptr,
          alike,
          prefill,
          decode,
          &kSample,
          &kLogProbability};
}

} // namespace

std::vector<uint64_t> weights() {
  std::vector<uint64_t> words;
  for (int64_t i = 0; i < kWeightWords; ++i)
    words.push_back(mix(17, uint64_t(i)));
  return words;
}

std::vector<float> expectedLogits(const std::vector<int32_t> &history) {
  const std::vector<uint64_t> table = weights();
  std::vector<uint64_t> state;
  for (size_t i = 0; i < history.size(); ++i)
    state.push_back(mix(embed(table.data(), history[i], int32_t(i)), environmentWord()));
  for (int64_t group = 0; group < 2; ++group)
    for (int64_t layer = 0; layer < kLayers[group]; ++layer) {
      const std::vector<uint64_t> before = state;
      for (size_t row = 0; row < history.size(); ++row)
        for (size_t position = 0; position <= row; ++position)
          for (int64_t head = 0; head < kHeads; ++head)
            for (int64_t plane = 0; plane < 2; ++plane)
              for (int64_t w = 0; w < kHeadWords; ++w)
                state[row] =
                    mix(state[row], kvWord(before[position], group * 10 + layer, plane, head, w));
    }
  std::vector<float> logits;
  for (int64_t v = 0; v < kVocabulary; ++v)
    logits.push_back(logit(state.back(), history.back(), v));
  return logits;
}

const writ_model_desc *alikeModel() {
  static const writ_model_desc model = describe(1);
  return &model;
}
const writ_model_desc *splitModel() {
  static const writ_model_desc model = describe(0);
  return &model;
}
Runs runs() {
  return counted;
}

} // namespace toy

extern "C" __attribute__((visibility("default"))) const writ_model_desc *writ_model(void) {
  return toy::alikeModel();
}
