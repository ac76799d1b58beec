//===- FileIOTest.cpp - whole files in, whole files out -------------------===//
#include "compiler/Support/FileIO.h"

#include "tests/support/Expect.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace writ {
namespace {

namespace fs = std::filesystem;

class FileIO : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::path(testing::TempDir()) /
             ("fileio_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string at(const char *name) const { return (folder / name).string(); }
  size_t filesInFolder() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  fs::path folder;
};

TEST_F(FileIO, WhatIsWrittenIsReadBack) {
  std::string bytes("a\0b\n\xff", 5);
  writeFileAtomically(at("f"), bytes);
  EXPECT_EQ(readFile(at("f")), bytes);
  EXPECT_EQ(filesInFolder(), 1u);
}

TEST_F(FileIO, AFileIsReplacedOnlyByACommit) {
  writeFileAtomically(at("f"), "old");
  {
    AtomicFile file(at("f"));
    file.write("new");
    EXPECT_EQ(readFile(at("f")), "old");
  }
  EXPECT_EQ(readFile(at("f")), "old");
  EXPECT_EQ(filesInFolder(), 1u) << "the temporary file is removed";
  AtomicFile file(at("f"));
  file.write("new");
  file.commit();
  EXPECT_EQ(readFile(at("f")), "new");
}

TEST_F(FileIO, E001_AFileThatCannotBeReadSaysWhy) {
  EXPECT_DIAGNOSTIC(readFile(at("none")),
                    at("none") +
                        ": error: cannot read the file: No such file or directory [E001]\n");
  EXPECT_DIAGNOSTIC(readFile(folder.string()),
                    folder.string() + ": error: cannot read the file: Is a directory [E001]\n");
  EXPECT_DIAGNOSTIC(MappedFile(folder.string()),
                    folder.string() + ": error: cannot read the file: Is a directory [E001]\n");
  EXPECT_DIAGNOSTIC(MappedFile("/dev/null"),
                    "/dev/null: error: cannot read the file: not a regular file, so that it cannot "
                    "be mapped [E001]\n");
}

TEST_F(FileIO, E002_AFileThatCannotBeWrittenSaysWhy) {
  EXPECT_DIAGNOSTIC(writeFileAtomically(at("none/f"), "x"),
                    at("none/f") +
                        ": error: cannot write the file: cannot create a file beside it: "
                        "No such file or directory [E002]\n");
  fs::create_directories(at("taken"));
  EXPECT_DIAGNOSTIC(writeFileAtomically(at("taken"), "x"),
                    at("taken") + ": error: cannot write the file: cannot rename the temporary "
                                  "file: Is a directory [E002]\n");
  EXPECT_EQ(filesInFolder(), 1u) << "no temporary file is left behind";
}

TEST_F(FileIO, AMappingHasTheBytesAndAnEmptyFileHasNone) {
  writeFileAtomically(at("f"), "abc");
  writeFileAtomically(at("empty"), "");
  MappedFile file(at("f")), empty(at("empty"));
  ASSERT_EQ(file.bytes().size(), 3u);
  EXPECT_EQ(static_cast<char>(file.bytes()[2]), 'c');
  EXPECT_TRUE(empty.bytes().empty());
}

} // namespace
} // namespace writ
