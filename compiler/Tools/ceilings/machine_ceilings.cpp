// Prints what this machine can do at most, as a JSON list with a row for each number of threads.
//
//   machine_ceilings [--threads 1,2] [--isa NAME] [--file FILE]
//
// FILE is read through a mapping, as a package's weights are. Exit codes: 0 done, 2 wrong usage.
#include "compiler/Tools/ceilings/Ceilings.h"
#include "writ/writ.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

int main(int argc, char **argv) {
  CLI::App app("What this machine can do at most.", "machine_ceilings");
  std::vector<int> threads{1};
  std::string isaName = writ_isa_name(writ_isa_best()), file;
  app.add_option("--threads", threads, "numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--isa", isaName, "an instruction set (default: the machine's best)");
  app.add_option("--file", file, "file to read through a mapping");
  CLI11_PARSE(app, argc, argv);
  const int32_t isa = writ_isa_from_name(isaName.c_str());
  if (isa < 0 || isa > writ_isa_best()) {
    std::fprintf(stderr,
                 "machine_ceilings: error: '%s' is not an instruction set of this machine\n",
                 isaName.c_str());
    return 2;
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int count : threads) {
    const writ::tool::Ceilings found = writ::tool::measureCeilings(writ_isa(isa), count, file);
    rows.push_back({{"isa", isaName},
                    {"n_threads", count},
                    {"mapped_bytes_per_s", found.mappedBytes},
                    {"large_page_bytes_per_s", found.largePageBytes},
                    {"int8_ops_per_s", found.int8Operations},
                    {"f32_ops_per_s", found.floatOperations},
                    {"bf16_ops_per_s", found.bfloatOperations}});
  }
  std::printf("%s\n", rows.dump(2).c_str());
}
