// Draws one token from each row of logits. The argument block is writ_sample_args.
//
//   1. repetition penalty, once for each distinct token of the last 64: rn(l / penalty) where l >
//   0,
//      else rn(l * penalty)
//   2. temperature 0: the largest logit, ties to the lowest id
//   3. descending order, ties by ascending id; top_k; then over the kept p_i = exp(l_i - l_0), S
//      ascending: top_p the shortest prefix whose sum is >= rn(top_p * S), min_p those with
//      p_i >= rn(min_p * p_0)
//   4. l_i = rn(l_i / T), p and S anew; the first i whose running sum exceeds rn(u * S), else the
//   last
//   5. u = (w >> 8) * 2^-24, w the first word of Philox4x32-10 (Salmon et al., SC'11) with key =
//   seed
//      and counter = (position, stream), low words first
//
// A row with a NaN or an infinity has token -1. Scratch: vocabulary * 16 bytes a row, two arrays of
// keys.
#include "writ/kernels/sample_philox.h"
#include "runtime/kernels/cpu/body.h"
#include "runtime/kernels/cpu/math.h"
#include "writ/model_abi.h"

static_assert(sizeof(sample_philox_args) == sizeof(writ_sample_args));

namespace {

/// Ascending keys are descending logits, then ascending ids: the high word is the logit's bits made
/// monotonic and turned over, the low word the id.
uint64_t keyOf(float logit, int64_t id) {
  const uint32_t bits = bitsOfFloat(logit == 0.0f ? 0.0f : logit); // -0 equals +0
  const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(~ascending) << 32 | static_cast<uint64_t>(id);
}
float logitOf(uint64_t key) {
  const uint32_t ascending = ~static_cast<uint32_t>(key >> 32);
  return floatFromBits(ascending & 0x80000000u ? ascending & 0x7fffffffu : ~ascending);
}
int32_t idOf(uint64_t key) {
  return static_cast<int32_t>(key & 0xffffffffu);
}

/// Restores the heap (largest key first) below `root`.
void siftDown(uint64_t *heap, int64_t root, int64_t count) {
  const uint64_t key = heap[root];
  for (int64_t child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && heap[child + 1] > heap[child])
      ++child;
    if (heap[child] <= key)
      break;
    heap[root] = heap[child];
  }
  heap[root] = key;
}

/// The `keep` least keys, ascending, in keys[0 .. keep).
void selectLeast(uint64_t *keys, int64_t count, int64_t keep) {
  for (int64_t i = keep / 2; i-- > 0;)
    siftDown(keys, i, keep);
  for (int64_t i = keep; i < count; ++i)
    if (keys[i] < keys[0]) {
      keys[0] = keys[i];
      siftDown(keys, 0, keep);
    }
  for (int64_t last = keep - 1; last > 0; --last) {
    const uint64_t key = keys[0];
    keys[0] = keys[last];
    keys[last] = key;
    siftDown(keys, 0, last);
  }
}

/// Sorts by the high words, ids being ascending before: four stable passes of 8 bits.
void sortKeys(uint64_t *keys, uint64_t *other, int64_t count) {
  for (int shift = 32; shift < 64; shift += 8) {
    int64_t at[257] = {};
    for (int64_t i = 0; i < count; ++i)
      ++at[(keys[i] >> shift & 255) + 1];
    for (int64_t i = 0; i < 256; ++i)
      at[i + 1] += at[i];
    for (int64_t i = 0; i < count; ++i)
      other[at[keys[i] >> shift & 255]++] = keys[i];
    uint64_t *swap = keys;
    keys = other;
    other = swap;
  }
}

uint32_t philoxFirstWord(uint64_t seed, uint64_t position, uint64_t stream) {
  uint32_t c[4] = {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                   static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  uint32_t k[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(0xD2511F53u) * c[0];
    const uint64_t b = static_cast<uint64_t>(0xCD9E8D57u) * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
        static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    for (int i = 0; i < 4; ++i)
      c[i] = next[i];
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c[0];
}

bool allFinite(const float *logits, int64_t count) {
  uint32_t worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t magnitude = bitsOfFloat(logits[i]) & 0x7fffffffu;
    worst = magnitude > worst ? magnitude : worst;
  }
  return worst < 0x7f800000u;
}

void penalize(const writ_sample_parameters &parameters, const float *logits, int64_t vocabulary,
              uint64_t *keys) {
  const int64_t skip = parameters.recent_count > 64 ? parameters.recent_count - 64 : 0;
  for (int64_t i = skip; i < parameters.recent_count; ++i) {
    const int64_t token = parameters.recent[i];
    if (token < 0 || token >= vocabulary)
      continue;
    const float l =
        logits[token]; // a token that occurs twice is computed twice from the same logit
    const float penalized =
        l > 0.0f ? l / parameters.repeat_penalty : l * parameters.repeat_penalty;
    keys[token] = keyOf(penalized, token);
  }
}

/// How many of the kept keys top_p and min_p leave.
int64_t truncate(const writ_sample_parameters &parameters, const uint64_t *keys, int64_t count) {
  const float first = logitOf(keys[0]);
  int64_t kept = count;
  if (parameters.top_p < 1.0f) {
    float sum = 0.0f;
    for (int64_t i = 0; i < count; ++i)
      sum += expF32(logitOf(keys[i]) - first);
    const float wanted = parameters.top_p * sum;
    float running = 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      running += expF32(logitOf(keys[i]) - first);
      if (running >= wanted) {
        kept = i + 1;
        break;
      }
    }
  }
  if (parameters.min_p > 0.0f) {
    const float least = parameters.min_p * 1.0f; // p_0 = exp(0) = 1
    int64_t i = 0;
    while (i < kept && expF32(logitOf(keys[i]) - first) >= least)
      ++i;
    kept = i > 0 ? i : 1;
  }
  return kept;
}

int32_t draw(const writ_sample_parameters &parameters, const uint64_t *keys, int64_t count) {
  const float temperature = parameters.temperature;
  const float first = logitOf(keys[0]) / temperature;
  const auto probability = [&](int64_t i) {
    return expF32(logitOf(keys[i]) / temperature - first);
  };
  float sum = 0.0f;
  for (int64_t i = 0; i < count; ++i)
    sum += probability(i);
  const uint32_t word = philoxFirstWord(parameters.seed, parameters.position, parameters.stream);
  const float wanted = static_cast<float>(word >> 8) * 0x1p-24f * sum;
  float running = 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    running += probability(i);
    if (running > wanted)
      return idOf(keys[i]);
  }
  return idOf(keys[count - 1]);
}

int32_t sampleRow(const float *logits, int64_t vocabulary, const writ_sample_parameters &parameters,
                  uint64_t *keys, uint64_t *other) {
  if (!allFinite(logits, vocabulary))
    return -1;
  for (int64_t i = 0; i < vocabulary; ++i)
    keys[i] = keyOf(logits[i], i);
  if (parameters.repeat_penalty != 1.0f)
    penalize(parameters, logits, vocabulary, keys);
  if (parameters.temperature == 0.0f) {
    uint64_t best = keys[0];
    for (int64_t i = 1; i < vocabulary; ++i)
      best = keys[i] < best ? keys[i] : best;
    return idOf(best);
  }
  int64_t count = vocabulary;
  if (parameters.top_k > 0 && parameters.top_k < count)
    count = parameters.top_k;
  if (count < vocabulary / 8)
    selectLeast(keys, vocabulary, count);
  else
    sortKeys(keys, other, vocabulary);
  count = truncate(parameters, keys, count);
  return draw(parameters, keys, count);
}

} // namespace

WRIT_BODY(sample_philox) {
  const auto &args = *static_cast<const writ_sample_args *>(arguments);
  for (int64_t row = begin; row < end; ++row) {
    auto *keys = static_cast<uint64_t *>(args.scratch) + row * 2 * args.vocabulary;
    args.token[row] = sampleRow(args.logits + row * args.vocabulary, args.vocabulary,
                                static_cast<const writ_sample_parameters *>(args.parameters)[row],
                                keys, keys + args.vocabulary);
  }
}
