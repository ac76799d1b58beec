//===- DataMutationTest.cpp - spoilt data are refused, never crash --------===//
//
// Contracts, maps, profiles, circuits and the vocabulary with one value or a few bytes changed:
// they still compile the tiny model, or are refused at a place in their file. tests/fuzz searches
// the readers of single files further; this goes through everything that is built on them.
//
//===----------------------------------------------------------------------===//
#include "tests/diagnostics/DataTree.h"
#include "tests/emit/Example.h"
#include "tests/import/Xorshift.h"

#include <sys/resource.h>

namespace writ::test {
namespace {

int64_t peakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Where each string, number and word of a JSON text stands: offset and length.
std::vector<std::pair<size_t, size_t>> scalarsOf(const std::string &text) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      while (end < text.size() && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
      found.push_back({at, std::min(end + 1, text.size()) - at});
      at = end + 1;
    } else if (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '-') {
      end = std::min(text.find_first_of(",]} \n", at), text.size());
      found.push_back({at, end - at});
      at = end;
    } else {
      ++at;
    }
  }
  return found;
}

/// `text` with one value or key replaced: by one of another kind, an extreme one, or another of the
/// file.
std::string otherValue(const std::string &text, Xorshift &random) {
  static const std::string values[] = {"null",
                                       "true",
                                       "-1",
                                       "0",
                                       "1",
                                       "1e999",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "0.5",
                                       "\"\"",
                                       "\"layer\"",
                                       "\"width / 0\"",
                                       "\"{layer}{nothing}\"",
                                       "\"-9223372036854775807 - 2\"",
                                       "[]",
                                       "{}",
                                       "[[[[[[[[]]]]]]]]",
                                       "\"\\u0000\"",
                                       "\"\xc3\x28\""};
  const auto scalars = scalarsOf(text);
  const auto [at, size] = scalars[random.below(scalars.size())];
  const auto [from, length] = scalars[random.below(scalars.size())];
  const std::string by =
      random.below(3) == 0 ? text.substr(from, length) : values[random.below(std::size(values))];
  return text.substr(0, at) + by + text.substr(at + size);
}

/// What compiling the tiny model by the data of `tree` says; "" where it compiles.
std::string compile(const DataTree &tree) {
  try {
    const Catalog catalog = tree.load();
    const TinyModel model;
    const CircuitInstance instance = instantiate(catalog, findCircuit(catalog, model), model);
    Compilation compilation;
    compilation.buildRequirements(instance, catalog, catalog.profiles().at("portable"));
    compilation.run(catalog);
    return "";
  } catch (const Error &error) {
    return tree.relative(error.what());
  }
}

TEST(DataMutation, F12_SpoiltDataAreRefusedInBoundedMemory) {
  const DataTree tree;
  ASSERT_EQ(compile(tree), "");
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(tree.path("")))
    if (entry.path().extension() == ".json" &&
        entry.path().string().find("/evidence/") == std::string::npos)
      files.push_back(std::filesystem::relative(entry.path(), tree.path("")).string());
  std::sort(files.begin(), files.end());
  const int64_t before = peakKilobytes();
  Xorshift random(12);
  constexpr int runs = 120;
  int compiled = 0;
  for (int run = 0; run < runs; ++run) {
    const std::string &file = files[random.below(files.size())];
    const std::string good = tree.read(file);
    const std::string bad =
        random.below(4) == 0 ? random.mutate(good, good.size()) : otherValue(good, random);
    tree.write(file, bad);
    const std::string said = compile(tree);
    if (said.empty())
      ++compiled;
    else
      EXPECT_NE(said.find(": error: "), std::string::npos) << file << ": " << said;
    EXPECT_TRUE(said.empty() || said.find(" [E") != std::string::npos) << said;
    tree.write(file, good);
  }
  EXPECT_LT(peakKilobytes() - before, 1'000'000);
  // A negative control: some mutations are harmless, most are not.
  EXPECT_GT(compiled, 0);
  EXPECT_LT(compiled, runs / 2);
}

} // namespace
} // namespace writ::test
