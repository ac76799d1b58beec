//===- Measure.cpp - the evidence of providers, measured again ------------===//
#include "compiler/Tools/writ/Measure.h"

#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/HostBuild.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/Session.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

/// A program of the project's tests, and the suite in it that compares bodies with the reference:
/// all of them, or those of providers that merge what was divided.
struct Comparison {
  const char *program, *suite;
  bool ofMerges;
};
constexpr Comparison kComparisons[] = {{"kernels_test", "C8_ProductionEqualsReference", false},
                                       {"threaded_test", "C8_ThreadedEqualsReference", false},
                                       {"threaded_test", "C8_DividedEqualsReference", true}};

bool speaksOf(const Comparison &comparison, const KernelMap &map) {
  return !comparison.ofMerges || map.json.at("threading").find("merge");
}

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

/// What a program said of itself and of its cases.
struct Report {
  std::string died;    ///< why there is nothing else; "" where it ended
  std::string builtOf; ///< "key=digest key=digest"
  Results results;
};

std::string lastLine(const std::string &text) {
  const size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos)
    return "it said nothing";
  const size_t begin = text.find_last_of('\n', end);
  const std::string line = text.substr(begin + 1, end - begin);
  return fmt::format("its last line is '{}'", line.substr(0, 200));
}

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

Report reportOf(const Comparison &comparison, const std::string &folder, const Catalog &catalog,
                const std::map<std::string, Location> &providers) {
  const std::string program = folder + "/" + comparison.program;
  std::error_code error;
  if (!fs::exists(program, error))
    return {fmt::format("there is no {}", comparison.program), {}, {}};
  std::string filter;
  for (const auto &[provider, place] : providers)
    if (const KernelMap &map = catalog.kernelMaps().at(provider); speaksOf(comparison, map))
      for (const std::string &isa : map.isa)
        filter += fmt::format("{}{}.{}*", filter.empty() ? "" : ":", comparison.suite,
                              casesOf(provider, isa));
  if (filter.empty())
    return {};
  const Folder temporary;
  const std::string path = temporary.file("report.json"), log = temporary.file("log");
  const int status =
      runProgram({program, "--gtest_filter=" + filter, "--gtest_output=json:" + path}, log);
  if (!fs::exists(path, error))
    return {status < 0 ? fmt::format("{} cannot be run: {}", comparison.program, strerror(errno))
                       : fmt::format("{} ended with status {}, and {}", comparison.program, status,
                                     lastLine(readFile(log))),
            {},
            {}};
  Report report;
  const Json said = readJsonFile(path);
  if (const Json *builtOf = said.find("built_of"))
    report.builtOf = builtOf->asString();
  for (const Json &suite : said.at("testsuites").elements())
    for (const Json &test : suite.at("testsuite").elements())
      addCase(test, catalog, providers, report.results);
  return report;
}

/// What a program was built of, or reads, that is not what a provider's record binds here; or "".
std::string otherSource(const Report &report, const EvidenceNeed &need,
                        const CurrentDigests &current) {
  std::map<std::string, std::string> builtOf;
  for (size_t begin = 0; begin < report.builtOf.size();) {
    const size_t end = std::min(report.builtOf.find(' ', begin), report.builtOf.size());
    const std::string pair = report.builtOf.substr(begin, end - begin);
    const size_t equals = pair.find('=');
    if (equals != std::string::npos)
      builtOf[pair.substr(0, equals)] = pair.substr(equals + 1);
    begin = end + 1;
  }
  for (const std::string &key : need.bound) {
    const auto here = current.find(key);
    const auto there = builtOf.find(key);
    if (there == builtOf.end())
      return fmt::format("does not say of which '{}' it was built", key);
    if (here == current.end() || here->second != there->second)
      return fmt::format("was built of another '{}': {}, which is {} here", key,
                         shortSha256(there->second),
                         here == current.end() ? "nothing" : shortSha256(here->second));
  }
  return "";
}

/// Why a provider is not validated by these counts, or "".
std::string faultOf(const Comparison &comparison, const Counts &counts) {
  if (counts.lost)
    return fmt::format("{} of {} cases of {} differ from the reference, the first '{}'",
                       counts.lost, counts.lost + counts.kept, comparison.suite, counts.firstLost);
  if (counts.skipped)
    return fmt::format("unresolved: {} cases of {} do not run on this machine", counts.skipped,
                       comparison.suite);
  if (!counts.kept)
    return fmt::format("unresolved: {} of {} compared nothing of it", comparison.suite,
                       comparison.program);
  return "";
}

} // namespace

void measureProviders(const std::string &folder, const Catalog &catalog,
                      const CurrentDigests &current,
                      const std::map<std::string, Location> &providers) {
  std::vector<Report> reports;
  for (const Comparison &comparison : kComparisons)
    reports.push_back(reportOf(comparison, folder, catalog, providers));
  std::vector<Diagnostic> faults;
  for (const auto &[provider, place] : providers) {
    const KernelMap &map = catalog.kernelMaps().at(provider);
    const EvidenceNeed need = providerNeed(map, place);
    int64_t kept = 0;
    bool whole = true;
    std::set<std::string> told; // one program may have two suites
    for (size_t i = 0; i < reports.size(); ++i) {
      const Comparison &comparison = kComparisons[i];
      const Report &report = reports[i];
      if (!speaksOf(comparison, map))
        continue;
      const Counts counts =
          report.results.contains(provider) ? report.results.at(provider) : Counts();
      std::string fault = report.died.empty() ? "" : "unresolved: " + report.died;
      if (fault.empty())
        if (const std::string other = otherSource(report, need, current); !other.empty())
          fault = fmt::format("unresolved: {} {}", comparison.program, other);
      if (fault.empty())
        fault = faultOf(comparison, counts);
      kept += counts.kept;
      whole = whole && fault.empty();
      if (!fault.empty() && told.insert(fault).second)
        faults.push_back({place,
                          "E103",
                          fmt::format("provider '{}', measured again: {}", provider, fault),
                          {{{folder + "/" + comparison.program}, "this program measures"}}});
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
