//===- DigestTest.cpp - SHA-256 -------------------------------------------===//
#include "compiler/Support/Digest.h"

#include "compiler/Support/FileIO.h"
#include "tests/support/Expect.h"

#include <filesystem>

namespace writ {
namespace {

// FIPS 180-2, appendix B.
constexpr const char *ofAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Digest, KnownAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), ofAbc);
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256(nullptr, 0), sha256(""));
}

TEST(Digest, OfAFileIsThatOfItsBytes) {
  std::string path = testing::TempDir() + "digest_of_a_file";
  // Longer than one piece of the reader.
  std::string bytes((size_t{1} << 20) + 17, 'x');
  writeFileAtomically(path, bytes);
  EXPECT_EQ(sha256File(path), sha256(bytes));
  std::filesystem::remove(path);
}

TEST(Digest, OfAMissingFileIsAnError) {
  EXPECT_DIAGNOSTIC(
      sha256File("no/such/file"),
      "no/such/file: error: cannot read the file: No such file or directory [E001]\n");
}

TEST(Digest, OfJsonDependsOnTheValueAlone) {
  auto a = nlohmann::json::parse(R"({"b": 1.0, "a": "é"})");
  auto b = nlohmann::json::parse(R"({ "a":"\u00e9","b":1 })");
  EXPECT_EQ(sha256Json(a), sha256Json(b));
  EXPECT_EQ(sha256Json(a), sha256("{\"a\":\"é\",\"b\":1}"));
}

} // namespace
} // namespace writ
