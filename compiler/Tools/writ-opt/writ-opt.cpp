//===- writ-opt.cpp - runs Writ's passes alone, and emits CallIR ----------===//
//
//   writ-opt --resolve-providers=data=DIR requirements.mlir
//   writ-opt --convert-graph-to-lowered --convert-lowered-to-call graph.mlir
//   writ-opt --emit-cpp call.mlir [-o DIR]
//
// --emit-cpp reads CallIR alone: neither circuit, contracts nor kernel maps. Without -o it prints
// each file after a line "//--- path".
//
//===----------------------------------------------------------------------===//
#include "compiler/Emit/EmitCpp.h"
#include "compiler/Passes/Pipeline.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ-opt/OptMain.h"

#include <cstdio>
#include <cstring>
#include <filesystem>

namespace {

int emit(int argc, char **argv) {
  const bool toFolder = argc == 5 && std::strcmp(argv[3], "-o") == 0;
  if (argc != 3 && !toFolder) {
    std::fprintf(stderr, "usage: writ-opt --emit-cpp CALL.mlir [-o DIR]\n");
    return 2;
  }
  const std::string input = std::strcmp(argv[2], "-") == 0 ? "/dev/stdin" : argv[2];
  writ::Compilation compilation;
  compilation.parse(writ::readFile(input), argv[2]);
  for (const writ::EmittedFile &file : writ::emitCpp(compilation.callModel())) {
    if (!toFolder) {
      std::printf("//--- %s\n%s", file.path.c_str(), file.text.c_str());
      continue;
    }
    const std::filesystem::path path = std::filesystem::path(argv[4]) / file.path;
    std::filesystem::create_directories(path.parent_path());
    writ::writeFileAtomically(path.string(), file.text);
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || std::strcmp(argv[1], "--emit-cpp") != 0)
    return writ::optMain(argc, argv);
  try {
    return emit(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
