//===- Sweep.cpp - one elementary function over the binary32 numbers ------===//
#include "tests/functions/Sweep.h"

#include "tests/functions/ExactFunction.h"
#include "tests/functions/StepArrays.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <sodium.h>
#include <thread>

namespace writ::test {
namespace {

constexpr uint64_t kPart = 1 << 24;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// From here on a real number rounds to infinity in binary32.
constexpr double kOverflow = 0x1.ffffffp+127;
/// Binary64's estimate is off by far less, in units of binary32's last place; each decision by MPFR
/// checks that.
constexpr double kMargin = 0x1p-16;
constexpr size_t kMostDecided = 1 << 20;
constexpr uint64_t kChecked = 4093; ///< every so many arguments MPFR checks the estimate, per part

using Digest = std::array<unsigned char, crypto_hash_sha256_BYTES>;

std::string hex(const Digest &digest) {
  std::string text(2 * digest.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  text.pop_back();
  return text;
}

uint32_t bitsOf(float value) {
  return value != value ? 0x7fc00000 : std::bit_cast<uint32_t>(value);
}

/// |computed - exact| in units in the last place of binary32 at the estimate of the exact value.
/// What overflows as it must is exact.
double estimatedUlp(float computed, double exact) {
  const uint64_t exponent = std::bit_cast<uint64_t>(exact) >> 52 & 2047;
  const uint64_t last = exponent > 1023 - 126 ? exponent - 23 : 1023 - 149;
  const double error =
      std::fabs(static_cast<double>(computed) - exact) / std::bit_cast<double>(last << 52);
  const bool overflows = std::fabs(exact) >= kOverflow;
  return overflows ? (std::isinf(computed) && (computed > 0) == (exact > 0) ? 0 : kInfinite)
                   : error;
}

struct Candidate {
  float x, computed;
  double error; ///< by the estimate
};

struct Part {
  Digest digest{};
  double worst = 0; ///< error by the estimate
  float worstAt = 0;
  double largestBelow = 0, screeningError = 0;
  uint64_t decided = 0;
  std::string fault;
};

std::string textOf(float value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%a", static_cast<double>(value));
  return text;
}

struct Task {
  const nlohmann::json &functions;
  const std::string &name;
  const std::vector<Production> &production;
  uint64_t stride;

  /// Everything but the last decision.
  Part run(StepArrays &steps, const ExactFunction &exact, uint64_t number) const;
  /// The arguments of a part whose error is at least this, by the estimate.
  void collect(StepArrays &steps, const ExactFunction &exact, uint64_t number, double least,
               std::vector<Candidate> &found) const;

  uint64_t count() const { return ((uint64_t(1) << 32) + stride - 1) / stride; }
  /// Calls with the arguments of each block and how many of them count.
  template <typename Visit> void forEachBlock(uint64_t number, Visit visit) const;
  /// The error by the estimate; MPFR decides at the edge of overflow. Nothing where the functions'
  /// error does not count: at infinities, and outside of the domain.
  std::optional<double> error(const ExactFunction &exact, float x, float y, double estimate) const;
  void judge(const ExactFunction &exact, std::span<const float> x, std::span<const float> y,
             Part &part) const;
  double from() const {
    const nlohmann::json &function = functionNamed(functions, name);
    return function.contains("max_ulp_from")
               ? std::strtod(function["max_ulp_from"].get<std::string>().c_str(), nullptr)
               : -kInfinite;
  }
};

template <typename Visit> void Task::forEachBlock(uint64_t number, Visit visit) const {
  std::vector<float> x(StepArrays::kBlock);
  const uint64_t end = std::min(count(), (number + 1) * kPart);
  for (uint64_t begin = number * kPart; begin < end; begin += x.size()) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = std::bit_cast<float>(static_cast<uint32_t>((begin + i) * stride));
    visit(std::span<const float>(x), std::min<uint64_t>(x.size(), end - begin));
  }
}

std::optional<double> Task::error(const ExactFunction &exact, float x, float y,
                                  double estimate) const {
  if (std::isinf(x) || estimate != estimate)
    return std::nullopt;
  const double error = estimatedUlp(y, estimate);
  if (std::isfinite(error))
    return error;
  const Real real = exact.decide(x);
  const bool overflows = !(abs(real) < Real(kOverflow));
  if (std::isinf(y) && overflows && (y > 0) == (estimate > 0))
    return 0;
  return std::isfinite(y) && !overflows ? errorInUlp(y, real) : kInfinite;
}

void Task::judge(const ExactFunction &exact, std::span<const float> x, std::span<const float> y,
                 Part &part) const {
  double estimates[StepArrays::kBlock], errors[StepArrays::kBlock];
  exact.estimate(x, {estimates, x.size()});
  for (size_t i = 0; i < x.size(); ++i)
    errors[i] = estimatedUlp(y[i], estimates[i]);
  const double least = from();
  for (size_t i = 0; i < x.size(); ++i) {
    if (errors[i] <= part.worst && !(x[i] < least))
      continue;
    if (estimates[i] != estimates[i] && y[i] == y[i] && !std::isinf(x[i]) && part.fault.empty())
      part.fault = name + " at " + textOf(x[i]) + " is " + textOf(y[i]) + ", expected a NaN";
    if (std::isfinite(x[i]) && x[i] < least)
      part.largestBelow = std::max(part.largestBelow, std::fabs(y[i] - estimates[i]));
    else if (const auto counted = error(exact, x[i], y[i], estimates[i]);
             counted && *counted > part.worst) {
      part.worst = *counted;
      part.worstAt = x[i];
    }
  }
}

Part Task::run(StepArrays &steps, const ExactFunction &exact, uint64_t number) const {
  Part part;
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  std::vector<float> y(StepArrays::kBlock), other(y.size());
  std::vector<uint32_t> bits(y.size());
  uint64_t block = 0;
  forEachBlock(number, [&](std::span<const float> x, size_t size) {
    steps.evaluate(x, y);
    for (size_t i = 0; i < size; ++i)
      bits[i] = bitsOf(y[i]);
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char *>(bits.data()),
                              size * sizeof(uint32_t));
    for (const Production &form : production) {
      form.evaluate(x.data(), other.data(), x.size());
      uint32_t differs = 0;
      for (size_t i = 0; i < size; ++i)
        differs |= bitsOf(other[i]) ^ bits[i];
      for (size_t i = 0; differs && i < size && part.fault.empty(); ++i)
        if (bitsOf(other[i]) != bits[i])
          part.fault = name + " at " + textOf(x[i]) + " is " + textOf(y[i]) + ", but " +
                       textOf(other[i]) + " in the form '" + form.form + "' of the kernels";
    }
    judge(exact, x.first(size), std::span<const float>(y).first(size), part);
    if (block++ % kChecked == 0) { // does the estimate hold what the margin supposes?
      const size_t i = block / kChecked * 37 % size;
      const double estimate = exact.estimate(x[i]);
      if (std::isfinite(x[i]) && std::fabs(estimate) < kOverflow && !(x[i] < from())) {
        const double off =
            std::fabs(estimatedUlp(y[i], estimate) - errorInUlp(y[i], exact.decide(x[i])));
        part.screeningError = std::max(part.screeningError, std::isnan(off) ? kInfinite : off);
        ++part.decided;
      }
    }
  });
  crypto_hash_sha256_final(&state, part.digest.data());
  return part;
}

void Task::collect(StepArrays &steps, const ExactFunction &exact, uint64_t number, double least,
                   std::vector<Candidate> &found) const {
  std::vector<float> y(StepArrays::kBlock);
  std::vector<double> estimates(y.size());
  forEachBlock(number, [&](std::span<const float> x, size_t size) {
    steps.evaluate(x, y);
    exact.estimate(x, estimates);
    for (size_t i = 0; i < size; ++i)
      if (estimatedUlp(y[i], estimates[i]) >= least && !(x[i] < from()))
        if (const auto counted = error(exact, x[i], y[i], estimates[i]);
            counted && *counted >= least && found.size() < kMostDecided)
          found.push_back({x[i], y[i], *counted});
  });
}

/// MPFR's word on what binary64 left open.
void decide(const ExactFunction &exact, const std::vector<Candidate> &candidates,
            SweepResult &result) {
  for (const Candidate &c : candidates) {
    const bool isDecided = std::isinf(c.error) || std::isinf(c.computed); // at the edge of overflow
    const double error = isDecided ? c.error : errorInUlp(c.computed, exact.decide(c.x));
    ++result.decided;
    if (!isDecided)
      result.screeningError = std::max(result.screeningError, std::fabs(error - c.error));
    if (error > result.maxUlp) {
      result.maxUlp = error;
      result.worstAt = c.x;
    }
  }
}

} // namespace

SweepResult sweep(const nlohmann::json &functions, const std::string &name,
                  const std::vector<Production> &production, const SweepOptions &options) {
  const Task task{functions, name, production, options.stride};
  const auto parts = static_cast<unsigned>((task.count() + kPart - 1) / kPart);
  std::vector<Part> done(parts);
  std::atomic<unsigned> next = 0;
  unsigned finished = 0;
  std::mutex mutex;
  auto work = [&] {
    StepArrays steps(functions, name);
    const ExactFunction exact(functionNamed(functions, name));
    for (unsigned part; (part = next++) < parts;) {
      done[part] = task.run(steps, exact, part);
      const std::lock_guard lock(mutex);
      if (options.progress)
        options.progress(++finished, parts);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();

  SweepResult result;
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  double worst = 0;
  for (const Part &part : done) {
    crypto_hash_sha256_update(&state, part.digest.data(), part.digest.size());
    if (part.worst > worst) {
      worst = part.worst;
      result.worstAt = part.worstAt;
    }
    result.largestBelow = std::max(result.largestBelow, part.largestBelow);
    result.screeningError = std::max(result.screeningError, part.screeningError);
    result.decided += part.decided;
    if (result.fault.empty())
      result.fault = part.fault;
  }
  Digest digest;
  crypto_hash_sha256_final(&state, digest.data());
  result.digest = hex(digest);
  for (const Production &form : production)
    result.forms.push_back(form.form);
  // Only now it is known which errors could be the largest: their parts are looked at again.
  std::vector<Candidate> candidates;
  StepArrays steps(functions, name);
  const ExactFunction exact(functionNamed(functions, name));
  const bool isDecided = std::isinf(worst) || worst == 0; // 0: exact, as far as binary64 can tell
  for (unsigned part = 0; part < parts && !isDecided; ++part)
    if (done[part].worst >= worst - 2 * kMargin)
      task.collect(steps, exact, part, worst - 2 * kMargin, candidates);
  if (isDecided)
    result.maxUlp = worst;
  decide(exact, candidates, result);
  if (result.fault.empty() && candidates.size() == kMostDecided)
    result.fault = name + ": too many arguments have nearly the largest error";
  if (result.fault.empty() && !(result.screeningError < kMargin / 2))
    result.fault = name + ": binary64 is off by " + std::to_string(result.screeningError) +
                   " ulp, too far to screen by it";
  return result;
}

double statedUlp(double ulp) {
  return std::ceil(ulp * 1e6) / 1e6;
}

std::string sha256Hex(const std::string &bytes) {
  Digest digest;
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char *>(bytes.data()),
                     bytes.size());
  return hex(digest);
}

std::string stepsDigest(const nlohmann::json &functions, const std::string &name) {
  const nlohmann::json &function = functionNamed(functions, name);
  nlohmann::json decisive;
  for (const char *field : {"signature", "constants", "special", "steps"})
    decisive[field] = function.at(field);
  for (const nlohmann::json &other : functions.at("functions")) {
    const std::string called = other.at("name");
    for (const std::string step : function.at("steps"))
      if (called != name && step.find(called + "(") != std::string::npos)
        decisive["calls"][called] = stepsDigest(functions, called);
  }
  return sha256Hex(decisive.dump());
}

} // namespace writ::test
