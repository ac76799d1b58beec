//===- Measure.cpp - the evidence of providers, measured again ------------===//
#include "compiler/Tools/writ/Measure.h"

#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/HostBuild.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/Session.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

/// A program of the project's tests, and the suite in it that compares bodies with the reference.
struct Comparison {
  const char *program, *suite;
};
constexpr Comparison kComparisons[] = {{"kernels_test", "C8_ProductionEqualsReference"},
                                       {"threaded_test", "C8_ThreadedEqualsReference"}};

struct Counts {
  int64_t kept = 0, lost = 0, skipped = 0;
  std::string firstLost;
};

/// The beginning of the names of the cases of one body.
std::string casesOf(const std::string &provider, const std::string &isa) {
  return fmt::format("BitForBit/{}_{}_", provider, isa);
}

class Folder {
public:
  Folder() {
    if (!mkdtemp(name.data()))
      throw EnvironmentError({"/tmp"}, "E002",
                             fmt::format("cannot be written: {}", strerror(errno)));
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(name, error);
  }
  std::string file(const char *leaf) const { return name + "/" + leaf; }

private:
  std::string name = "/tmp/writ-measure-XXXXXX";
};

/// provider → what its cases of one program gave.
using Results = std::map<std::string, Counts>;

void addCase(const Json &test, const Catalog &catalog,
             const std::map<std::string, Location> &providers, Results &results) {
  const std::string &name = test.at("name").asString();
  for (const auto &[provider, place] : providers)
    for (const std::string &isa : catalog.kernelMaps().at(provider).isa) {
      if (!name.starts_with(casesOf(provider, isa)))
        continue;
      Counts &counts = results[provider];
      if (test.find("failures")) {
        counts.firstLost = counts.lost++ ? counts.firstLost : name;
      } else if (test.at("result").asString() == "COMPLETED") {
        ++counts.kept;
      } else {
        ++counts.skipped;
      }
      return;
    }
}

/// What a program said; nothing, where it is absent or did not end.
Results resultsOf(const Comparison &comparison, const std::string &folder, const Catalog &catalog,
                  const std::map<std::string, Location> &providers) {
  const std::string program = folder + "/" + comparison.program;
  std::error_code error;
  if (!fs::exists(program, error))
    return {};
  std::string filter;
  for (const auto &[provider, place] : providers)
    for (const std::string &isa : catalog.kernelMaps().at(provider).isa)
      filter += fmt::format("{}{}.{}*", filter.empty() ? "" : ":", comparison.suite,
                            casesOf(provider, isa));
  const Folder temporary;
  const std::string report = temporary.file("report.json");
  runProgram({program, "--gtest_filter=" + filter, "--gtest_output=json:" + report},
             temporary.file("log"));
  Results results;
  if (!fs::exists(report, error))
    return results;
  const Json said = readJsonFile(report);
  for (const Json &suite : said.at("testsuites").elements())
    for (const Json &test : suite.at("testsuite").elements())
      addCase(test, catalog, providers, results);
  return results;
}

/// Why a provider is not validated by these counts, or "".
std::string faultOf(const Comparison &comparison, const Counts &counts) {
  if (counts.lost)
    return fmt::format("{} of {} cases of {} differ from the reference, the first '{}'",
                       counts.lost, counts.lost + counts.kept, comparison.program,
                       counts.firstLost);
  if (counts.skipped)
    return fmt::format("unresolved: {} cases of {} do not run on this machine", counts.skipped,
                       comparison.program);
  if (!counts.kept)
    return fmt::format("unresolved: {} compared nothing of it", comparison.program);
  return "";
}

} // namespace

void measureProviders(const std::string &folder, const Catalog &catalog,
                      const std::map<std::string, Location> &providers) {
  std::vector<Results> all;
  for (const Comparison &comparison : kComparisons)
    all.push_back(resultsOf(comparison, folder, catalog, providers));
  std::vector<Diagnostic> faults;
  for (const auto &[provider, place] : providers) {
    int64_t kept = 0;
    bool whole = true;
    for (size_t i = 0; i < all.size(); ++i) {
      const Counts counts = all[i].contains(provider) ? all[i].at(provider) : Counts();
      kept += counts.kept;
      const std::string fault = faultOf(kComparisons[i], counts);
      whole = whole && fault.empty();
      if (!fault.empty())
        faults.push_back({place,
                          "E103",
                          fmt::format("provider '{}', measured again: {}", provider, fault),
                          {{{folder + "/" + kComparisons[i].program}, "this program measures"}}});
    }
    if (whole)
      printLine(fmt::format("{:<10} provider '{}': {} cases give the reference's bits", "measured",
                            provider, kept));
  }
  flushOutput();
  if (!faults.empty())
    throw Error(std::move(faults));
}

} // namespace writ::tool
