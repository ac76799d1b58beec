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
// keys, of which one serves for penalized logits before the candidates are sorted into it, the
// other for probabilities after.
#include "writ/kernels/sample_philox.h"
#include "runtime/kernels/cpu/simd/lanes.h"
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

constexpr int64_t kScanned = 64; ///< logits that are looked at together

inline float greatestOf(const float *logits) {
  Lanes most = load(logits);
  for (int64_t i = kLanes; i < kScanned; i += kLanes)
    most = maximum(most, load(logits + i));
  return greatest(most);
}

/// The `keep` least keys of the logits, ascending, in keys[0 .. keep). Ids ascend, so that a logit
/// enters only where it is larger than one that is kept.
void selectLeast(const float *logits, int64_t count, int64_t keep, uint64_t *keys) {
  for (int64_t i = 0; i < keep; ++i)
    keys[i] = keyOf(logits[i], i);
  for (int64_t i = keep / 2; i-- > 0;)
    siftDown(keys, i, keep);
  float least = logitOf(keys[0]);
  const auto take = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (logits[i] > least) {
        keys[0] = keyOf(logits[i], i);
        siftDown(keys, 0, keep);
        least = logitOf(keys[0]);
      }
  };
  int64_t i = keep;
  for (; i + kScanned <= count; i += kScanned)
    if (greatestOf(logits + i) > least)
      take(i, i + kScanned);
  take(i, count);
  for (int64_t last = keep - 1; last > 0; --last) {
    const uint64_t key = keys[0];
    keys[0] = keys[last];
    keys[last] = key;
    siftDown(keys, 0, last);
  }
}

/// The id of the least key.
int32_t largestLogit(const float *logits, int64_t count) {
  uint64_t best = keyOf(logits[0], 0);
  selectLeast(logits, count, 1, &best);
  return idOf(best);
}

/// Sorts by the high words, ids being ascending before: three stable passes of 11 bits, so that the
/// result is in `other`.
void sortKeys(uint64_t *keys, uint64_t *other, int64_t count) {
  constexpr int kPasses = 3, kBits = 11, kBins = 1 << kBits;
  const auto bin = [](uint64_t key, int pass) { return key >> (32 + pass * kBits) & (kBins - 1); };
  uint32_t at[kPasses][kBins] = {};
  for (int64_t i = 0; i < count; ++i)
    for (int pass = 0; pass < kPasses; ++pass)
      ++at[pass][bin(keys[i], pass)];
  for (int pass = 0; pass < kPasses; ++pass) {
    uint32_t before = 0;
    for (uint32_t &place : at[pass]) {
      const uint32_t own = place;
      place = before;
      before += own;
    }
    for (int64_t i = 0; i < count; ++i)
      other[at[pass][bin(keys[i], pass)]++] = keys[i];
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
  Lanes size = zero();
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Lanes v = load(logits + i);
    size = maximum(size, selectNaN(v, broadcast(kInfinity), absolute(v)));
  }
  const Lanes rest = loadSome(logits + i, count - i);
  size = maximum(size, selectNaN(rest, broadcast(kInfinity), absolute(rest)));
  return greatest(size) < kInfinity;
}

/// The row with its penalties, in `copy`.
const float *penalize(const writ_sample_parameters &parameters, const float *logits,
                      int64_t vocabulary, float *copy) {
  __builtin_memcpy(copy, logits, static_cast<size_t>(vocabulary) * sizeof(float));
  const int64_t skip = parameters.recent_count > 64 ? parameters.recent_count - 64 : 0;
  for (int64_t i = skip; i < parameters.recent_count; ++i) {
    const int64_t token = parameters.recent[i];
    if (token < 0 || token >= vocabulary)
      continue;
    const float l =
        logits[token]; // a token that occurs twice is computed twice from the same logit
    copy[token] = l > 0.0f ? l / parameters.repeat_penalty : l * parameters.repeat_penalty;
  }
  return copy;
}

/// exp(value(logit) - value(the first logit)) of each key.
template <typename Value>
void probabilities(const uint64_t *keys, int64_t count, float *p, Value value) {
  const Lanes first = value(broadcast(logitOf(keys[0])));
  for (int64_t i = 0; i < count; i += kLanes) {
    alignas(64) float some[kLanes] = {};
    const int64_t here = least(kLanes, count - i);
    for (int64_t j = 0; j < here; ++j)
      some[j] = logitOf(keys[i + j]);
    storeSome(expLanes(sub(value(load(some)), first)), p + i, here);
  }
}

float sumOf(const float *p, int64_t count) {
  float sum = 0.0f;
  for (int64_t i = 0; i < count; ++i)
    sum += p[i];
  return sum;
}

/// How many of the kept keys top_p and min_p leave. `p` is scratch.
int64_t truncate(const writ_sample_parameters &parameters, const uint64_t *keys, int64_t count,
                 float *p) {
  int64_t kept = count;
  if (parameters.top_p >= 1.0f && parameters.min_p <= 0.0f)
    return kept;
  probabilities(keys, count, p, [](Lanes logit) { return logit; });
  if (parameters.top_p < 1.0f) {
    const float wanted = parameters.top_p * sumOf(p, count);
    float running = 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      running += p[i];
      if (running >= wanted) {
        kept = i + 1;
        break;
      }
    }
  }
  if (parameters.min_p > 0.0f) {
    const float least = parameters.min_p * 1.0f; // p_0 = exp(0) = 1
    int64_t i = 0;
    while (i < kept && p[i] >= least)
      ++i;
    kept = i > 0 ? i : 1;
  }
  return kept;
}

/// The drawn token, or -1 where no running sum exceeds the product. `p` is scratch.
int32_t draw(const writ_sample_parameters &parameters, const uint64_t *keys, int64_t count,
             float *p) {
  const Lanes temperature = broadcast(parameters.temperature);
  probabilities(keys, count, p, [&](Lanes logit) { return div(logit, temperature); });
  const uint32_t word = philoxFirstWord(parameters.seed, parameters.position, parameters.stream);
  const float wanted = static_cast<float>(word >> 8) * 0x1p-24f * sumOf(p, count);
  float running = 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    running += p[i];
    if (running > wanted)
      return idOf(keys[i]);
  }
  return -1;
}

float largestOf(const float *logits, int64_t count) {
  float most = logits[0];
  int64_t i = 0;
  for (; i + kScanned <= count; i += kScanned) {
    const float here = greatestOf(logits + i);
    most = here > most ? here : most;
  }
  for (; i < count; ++i)
    most = logits[i] > most ? logits[i] : most;
  return most;
}

/// A logit below which no candidate moves a bit of the choice, or -infinity where none is known.
///
/// The sums ascend from p_0 = 1, so that an addend below half of 1's ulp, 2^-24, leaves them as
/// they are, and what follows it is smaller still: neither a sum nor the place where one is reached
/// depends on it. min_p drops what is below min_p. Divisions and differences round monotonically,
/// so what holds at the floor holds below it; the tenth is far more than exp_f32_v0's error.
float floorOf(const writ_sample_parameters &parameters, float largest) {
  constexpr float kUnmoved = 0.9f * 0x1p-24f, kDepth = 17.0f; // exp(-17) = 0.69 * 2^-24
  const float temperature = parameters.temperature;
  const auto scaledExp = [&](float logit) {
    const Lanes t = broadcast(temperature);
    return greatest(expLanes(sub(div(broadcast(logit), t), div(broadcast(largest), t))));
  };
  const auto plainExp = [&](float logit) {
    return greatest(expLanes(sub(broadcast(logit), broadcast(largest))));
  };
  const bool cutsByMin = parameters.min_p > 0.0f, cutsByTop = parameters.top_p < 1.0f;
  if (cutsByMin && !cutsByTop) {
    for (float depth = 0.125f; depth < kDepth; depth += 0.5f)
      if (plainExp(largest - depth) < 0.9f * parameters.min_p)
        return largest - depth;
  }
  const float scaled = kDepth * temperature;
  const float floor = largest - (cutsByTop && scaled < kDepth ? kDepth : scaled);
  const bool unmoved = scaledExp(floor) < kUnmoved && (!cutsByTop || plainExp(floor) < kUnmoved);
  return unmoved ? floor : -kInfinity;
}

/// The keys of the logits that are at least `floor`, ids ascending; how many.
int64_t keysFrom(const float *logits, int64_t count, float floor, uint64_t *keys) {
  int64_t found = 0;
  const auto take = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      keys[found] = keyOf(logits[i], i); // found <= i: within the array
      found += logits[i] >= floor;
    }
  };
  int64_t i = 0;
  for (; i + kScanned <= count; i += kScanned) {
    if (greatestOf(logits + i) < floor)
      continue;
    for (int64_t j = i; j < i + kScanned; j += kLanes)
      if (greatest(load(logits + j)) >= floor)
        take(j, j + kLanes);
  }
  take(i, count);
  return found;
}

/// Chooses among the logits that are at least `floor`; -1 as draw.
int32_t chooseFrom(const float *logits, int64_t vocabulary, float floor,
                   const writ_sample_parameters &parameters, uint64_t *keys, uint64_t *other) {
  int64_t count = keysFrom(logits, vocabulary, floor, keys);
  sortKeys(keys, other, count);
  if (parameters.top_k > 0 && parameters.top_k < count)
    count = parameters.top_k;
  auto *p = reinterpret_cast<float *>(keys);
  count = truncate(parameters, other, count, p);
  const int32_t token = draw(parameters, other, count, p);
  return token < 0 && floor == -kInfinity ? idOf(other[count - 1]) : token;
}

/// Each of `keys` and `other` holds a key for each token.
int32_t sampleRow(const float *given, int64_t vocabulary, const writ_sample_parameters &parameters,
                  uint64_t *keys, uint64_t *other) {
  if (!allFinite(given, vocabulary))
    return -1;
  const auto penalized = [&] {
    return parameters.repeat_penalty == 1.0f
               ? given
               : penalize(parameters, given, vocabulary, reinterpret_cast<float *>(other));
  };
  const float *logits = penalized();
  if (parameters.temperature == 0.0f)
    return largestLogit(logits, vocabulary);
  if (parameters.top_k > 0 && parameters.top_k < vocabulary / 8) {
    selectLeast(logits, vocabulary, parameters.top_k, keys);
    auto *p = reinterpret_cast<float *>(other);
    const int64_t count = truncate(parameters, keys, parameters.top_k, p);
    const int32_t token = draw(parameters, keys, count, p);
    return token < 0 ? idOf(keys[count - 1]) : token;
  }
  const float floor = floorOf(parameters, largestOf(logits, vocabulary));
  const int32_t token = chooseFrom(logits, vocabulary, floor, parameters, keys, other);
  if (token >= 0 || floor == -kInfinity)
    return token;
  // Probabilities that are no numbers (a quotient overflowed) end at the last of all candidates.
  return chooseFrom(penalized(), vocabulary, -kInfinity, parameters, keys, other);
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
