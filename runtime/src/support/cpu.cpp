#include "support/cpu.h"

#include <cerrno>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace writ {
namespace {

constexpr uint32_t kFma = 1u << 12, kOsXsave = 1u << 27, kAvx = 1u << 28, kF16c = 1u << 29;
constexpr uint32_t kAvx2 = 1u << 5, kBmi2 = 1u << 8, kAvx512F = 1u << 16, kAvx512Dq = 1u << 17,
                   kAvx512Bw = 1u << 30, kAvx512Vl = 1u << 31;
constexpr uint32_t kAvx512Vnni = 1u << 11;
constexpr uint32_t kAvx512Bf16 = 1u << 5;
constexpr uint64_t kXmmYmm = 0x6, kMasksZmm = 0xe0;
constexpr uint64_t kHardwareDotProduct = 1u << 20; // HWCAP_ASIMDDP

template <class Word> bool has(Word word, Word bits) {
  return (word & bits) == bits;
}

} // namespace

CpuWords readCpuWords() {
  CpuWords words;
#if defined(__x86_64__)
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
    return words;
  words.leaf1Ecx = ecx;
  if (has(ecx, kOsXsave)) {
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words.xcr0 = uint64_t(high) << 32 | low;
  }
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    words.leaf7Ebx = ebx;
    words.leaf7Ecx = ecx;
    if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx))
      words.leaf7Sub1Eax = eax;
  }
#endif
  return words;
}

writ_isa isaFromCpuWords(const CpuWords &words) {
  if (!has(words.leaf1Ecx, kOsXsave | kAvx | kFma | kF16c) || !has(words.leaf7Ebx, kAvx2 | kBmi2) ||
      !has(words.xcr0, kXmmYmm))
    return WRIT_ISA_SCALAR;
  if (!has(words.leaf7Ebx, kAvx512F | kAvx512Dq | kAvx512Bw | kAvx512Vl) ||
      !has(words.leaf7Ecx, kAvx512Vnni) || !has(words.xcr0, kXmmYmm | kMasksZmm))
    return WRIT_ISA_AVX2;
  return has(words.leaf7Sub1Eax, kAvx512Bf16) ? WRIT_ISA_AVX512BF16 : WRIT_ISA_AVX512;
}

writ_isa isaFromHardwareCapabilities(uint64_t words) {
  return has(words, kHardwareDotProduct) ? WRIT_ISA_DOTPROD : WRIT_ISA_NEON;
}

writ_isa bestIsa() {
#if defined(__aarch64__)
  return isaFromHardwareCapabilities(::getauxval(AT_HWCAP));
#else
  return isaFromCpuWords(readCpuWords());
#endif
}

bool supportsIsa(writ_isa isa, writ_isa best) {
  const auto isOfArm = [](writ_isa set) { return set == WRIT_ISA_NEON || set == WRIT_ISA_DOTPROD; };
  return isa == WRIT_ISA_SCALAR || (isa <= best && isOfArm(isa) == isOfArm(best));
}

std::vector<int> processors() {
  std::vector<int> numbers;
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set))
        numbers.push_back(i);
#endif
  return numbers;
}

int processorCount() {
  if (const std::vector<int> numbers = processors(); !numbers.empty())
    return int(numbers.size());
  const unsigned count = std::thread::hardware_concurrency();
  return count > 0 ? int(count) : 1;
}

#if defined(__linux__)

int pinThread(pthread_t thread, int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return ::pthread_setaffinity_np(thread, sizeof set, &set);
}

PinnedCaller::PinnedCaller(int processor) {
  if (processor < 0)
    return;
  error = ::pthread_getaffinity_np(::pthread_self(), sizeof before, &before);
  if (error == 0)
    error = pinThread(::pthread_self(), processor);
  bound = error == 0;
}

PinnedCaller::~PinnedCaller() {
  if (bound)
    ::pthread_setaffinity_np(::pthread_self(), sizeof before, &before);
}

#else

int pinThread(pthread_t, int) {
  return ENOTSUP;
}
PinnedCaller::PinnedCaller(int processor) : error(processor < 0 ? 0 : ENOTSUP) {}
PinnedCaller::~PinnedCaller() = default;

#endif

} // namespace writ
