//===- EmitTest.cpp - what the emitter promises ---------------------------===//
#include "compiler/Support/Digest.h"
#include "compiler/Support/FileIO.h"
#include "tests/emit/Example.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <locale>

namespace writ::test {
namespace {

const std::string kRoot = WRIT_SOURCE_DIR;

const Catalog &catalog() {
  static const Catalog read = repositoryCatalog(kRoot);
  return read;
}

std::string textOf(const std::vector<EmittedFile> &files) {
  std::string text;
  for (const EmittedFile &file : files)
    text += "//--- " + file.path + "\n" + file.text;
  return text;
}

size_t count(const std::string &text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

/// Groups digits and swaps the decimal point: whoever prints by locale shows it.
struct Grouping : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

TEST(Emit, C9_GeneratedExampleIsReproduced) {
  for (const EmittedFile &file : exampleFiles(kRoot))
    EXPECT_EQ(readFile(kRoot + "/generated/tiny/" + file.path), file.text)
        << file.path << " differs; `cmake --build build --target regenerate` writes it anew";
}

TEST(Emit, C9_SameBytesInAnyDirectoryAndLocale) {
  const std::string before = textOf(exampleFiles(kRoot));
  const std::filesystem::path home = std::filesystem::current_path();
  const std::locale locale = std::locale::global(std::locale(std::locale(), new Grouping));
  std::filesystem::current_path(std::filesystem::temp_directory_path());
  const std::string after = textOf(exampleFiles(kRoot));
  // The same repository by another path.
  const std::string detour = textOf(exampleFiles(kRoot + "/circuits/.."));
  std::filesystem::current_path(home);
  std::locale::global(locale);
  EXPECT_EQ(before, after);
  EXPECT_EQ(before, detour);
}

TEST(Emit, C9_EmissionNeedsCallIrAlone) {
  Compilation compiled = compileTiny(catalog(), "portable");
  Compilation read;
  read.parse(compiled.text(), "call.mlir");
  EXPECT_EQ(textOf(emitCpp(compiled.callModel())), textOf(emitCpp(read.callModel())));
}

TEST(Emit, C10_TheCodeCarriesTheDigestOfTheTextThatItWasEmittedFrom) {
  Compilation compiled = compileTiny(catalog(), "portable");
  const CallModel model = compiled.callModel();
  EXPECT_EQ(model.callSha256, sha256(compiled.text()));
  EXPECT_NE(textOf(emitCpp(model)).find(".call_sha256 = \"" + model.callSha256 + "\""),
            std::string::npos);
  // Another constant in a call is resolved alike, and is other code.
  TinyModel::Sizes sizes;
  sizes.epsilon = 1e-2f;
  const CallModel other = compileTiny(catalog(), "portable", TinyModel(sizes)).callModel();
  EXPECT_EQ(other.resolutionSha256, model.resolutionSha256);
  EXPECT_NE(other.callSha256, model.callSha256);
}

TEST(Emit, NoPathOfTheMachineIsEmitted) {
  EXPECT_EQ(textOf(exampleFiles(kRoot)).find(kRoot), std::string::npos);
}

TEST(Emit, LayersOfOneKindShareAFunction) {
  TinyModel::Sizes sizes;
  sizes.layers = 5;
  const std::string text =
      textOf(emitCpp(compileTiny(catalog(), "portable", TinyModel(sizes)).callModel()));
  EXPECT_EQ(count(text, "void run_layer"), 1u);
  EXPECT_EQ(count(text, "// layer "), 5u); // one row of places each
}

TEST(Emit, LayersOfTwoKindsHaveTwoFunctions) {
  TinyModel::Sizes sizes;
  sizes.layers = 4;
  sizes.storage = [](int64_t layer) { return std::string(layer == 1 ? "q8_0" : "q4_1"); };
  const std::string text =
      textOf(emitCpp(compileTiny(catalog(), "portable", TinyModel(sizes)).callModel()));
  EXPECT_EQ(count(text, "void run_layer(") + count(text, "void run_layer_2("), 2u);
  EXPECT_EQ(count(text, "void run_layer"), 2u);
}

TEST(Emit, BothPhasesShareOneBodyWhereTheyAreAlike) {
  CallModel model = compileTiny(catalog(), "portable").callModel();
  EXPECT_TRUE(model.phasesAlike);
  EXPECT_NE(textOf(emitCpp(model)).find("void run_step"), std::string::npos);
  model.decode.back().arguments.back().value = int64_t(7);
  EXPECT_EQ(textOf(emitCpp(model)).find("void run_step"), std::string::npos);
}

TEST(Emit, WeightsLieInOrderWithinTheirBytes) {
  const CallModel model = compileTiny(catalog(), "portable").callModel();
  int64_t end = 0;
  for (const PackedWeight &weight : model.weights) {
    EXPECT_EQ(weight.offset, (end + 63) / 64 * 64) << weight.name;
    end = weight.offset + weight.bytes;
  }
  EXPECT_EQ(model.weightsBytes, end);
}

TEST(Emit, TiedEmbeddingIsPackedOnce) {
  const CallModel model = compileTiny(catalog(), "portable").callModel();
  EXPECT_EQ(std::count_if(model.weights.begin(), model.weights.end(),
                          [](const PackedWeight &w) { return w.tensor == "token_embd.weight"; }),
            1);
}

TEST(Emit, ForeignNamesAreEscaped) {
  CallModel model = compileTiny(catalog(), "portable").callModel();
  model.name = "a\"b\\c\n*/ \xff ?"
               "?/";
  const std::string text = textOf(emitCpp(model));
  EXPECT_NE(text.find(R"("a\"b\\c\012*/ \377 \077\077/")"), std::string::npos);
  EXPECT_EQ(text.find("c\n*/"), std::string::npos);
}

TEST(Emit, E204_SymbolThatIsNoIdentifier) {
  CallModel model = compileTiny(catalog(), "portable").callModel();
  model.prefill[0].provider = "a; system(\"x\")";
  try {
    emitCpp(model);
    FAIL() << "emitted";
  } catch (const Error &error) {
    EXPECT_EQ(error.diagnostics()[0].code, "E204");
  }
}

TEST(Emit, E204_ModuleOfAnotherStage) {
  Compilation compilation;
  compilation.parse("module {}", "empty.mlir");
  try {
    compilation.callModel();
    FAIL() << "read";
  } catch (const Error &error) {
    EXPECT_EQ(error.diagnostics()[0].code, "E204");
    EXPECT_EQ(error.diagnostics()[0].message,
              "the module has no graph.model; only CallIR can be emitted");
  }
}

} // namespace
} // namespace writ::test
