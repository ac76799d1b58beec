//===- Regenerate.cpp - writes generated/tiny -----------------------------===//
//
//   regenerate REPOSITORY
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/FileIO.h"
#include "tests/emit/Example.h"

#include <cstdio>
#include <filesystem>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: regenerate REPOSITORY\n");
    return 2;
  }
  try {
    for (const writ::EmittedFile &file : writ::test::exampleFiles(argv[1])) {
      const std::filesystem::path path =
          std::filesystem::path(argv[1]) / "generated" / "tiny" / file.path;
      std::filesystem::create_directories(path.parent_path());
      writ::writeFileAtomically(path.string(), file.text);
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s", error.what());
    return 1;
  }
  return 0;
}
