//===- function_sweep.cpp - an elementary function over all arguments -----===//
//
//   function_sweep [--record] [--threads N] FUNCTION...     default: every function
//
// Holds all 2^32 results, of a binary64 function those of chosen arguments, of one that rounds its
// argument to binary16 all 2^16, against the record of tests/data/functions and the error that
// functions.json states. --record writes the record and prints what functions.json has to state:
// for a new function. Minutes for each function; all processors, unless --threads says how many.
//
// exit status: 0 as recorded, 1 not, 2 wrong usage, 77 this processor cannot run it
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Data.h"
#include "tests/functions/HalfSweep.h"
#include "tests/functions/Record.h"
#include "tests/functions/Sample.h"
#include "tests/functions/StepArrays.h"
#include "tests/functions/Sweep.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

using namespace writ::test;

void showProgress(const std::string &name, unsigned done, unsigned parts) {
  const bool isTerminal = isatty(STDERR_FILENO) != 0;
  if (isTerminal || done % 8 == 0)
    std::fprintf(stderr, "%s%s: %u of %u%s", isTerminal ? "\r" : "", name.c_str(), done, parts,
                 isTerminal && done < parts ? "" : "\n");
}

/// What is wrong, or "".
std::string run(const std::string &name, unsigned threads, bool record) {
  const nlohmann::json &functions = Data::get().functions;
  const auto begin = std::chrono::steady_clock::now();
  SweepOptions options{1, threads,
                       [&](unsigned done, unsigned parts) { showProgress(name, done, parts); }};
  const SweepResult found = wholeResult(functions, name, options);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%s: sha256 %s, max_ulp %.6f at %a, %llu arguments decided by MPFR, %zu forms of the "
              "kernels, %.0f s\n",
              name.c_str(), found.digest.c_str(), statedUlp(found.maxUlp), found.worstAt,
              static_cast<unsigned long long>(found.decided), found.forms.size(), seconds);
  if (!found.fault.empty())
    return found.fault;
  if (record) {
    writeRecord(functions, name, found, stridedResult(functions, name), seconds);
  }
  return differenceFromRecord(functions, name, found);
}

/// The same of a function that rounds its argument to binary16; MPFR decides every result.
std::string runHalves(const std::string &name, bool record) {
  const nlohmann::json &functions = Data::get().functions;
  const SweepResult found = sweepHalves(functions, name, productionForms(name), {1});
  std::printf("%s: sha256 %s, max_ulp %.6f of binary16 at %a, %llu results decided by MPFR, %zu "
              "forms of the kernels\n",
              name.c_str(), found.digest.c_str(), statedUlp(found.maxUlp),
              static_cast<double>(found.worstAt), static_cast<unsigned long long>(found.decided),
              found.forms.size());
  if (!found.fault.empty())
    return found.fault;
  if (record)
    writeHalfRecord(functions, name, found);
  return differenceFromHalfRecord(functions, name, found);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> names;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  bool record = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--record")) {
      record = true;
    } else if (!std::strcmp(argv[i], "--threads") && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      threads = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (argv[i][0] == '-') {
      std::fprintf(stderr, "usage: function_sweep [--record] [--threads N] FUNCTION...\n");
      return 2;
    } else {
      names.push_back(argv[i]);
    }
  }
  if (!canSweep()) {
    std::fprintf(stderr, "this processor has no AVX2 and FMA, which the sweep is compiled for\n");
    return 77;
  }
  if (names.empty())
    for (const auto &function : Data::get().functions["functions"])
      if (StepArrays::isSwept(function) || roundsItsArgument(function) || isSampled(function))
        names.push_back(function["name"]);
  int status = 0;
  for (const std::string &name : names)
    try {
      const bool halves = roundsItsArgument(functionNamed(Data::get().functions, name));
      const std::string fault = halves ? runHalves(name, record) : run(name, threads, record);
      if (!fault.empty())
        std::printf("error: %s\n", fault.c_str());
      status = fault.empty() ? status : 1;
    } catch (const std::exception &error) {
      std::printf("error: %s\n", error.what());
      status = 1;
    }
  return status;
}
