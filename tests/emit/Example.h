//===- Example.h - the committed example under generated/ -----------------===//
#pragma once

#include "compiler/Emit/EmitCpp.h"
#include "compiler/Passes/Pipeline.h"
#include "tests/emit/TinyModel.h"

namespace writ::test {

/// The catalog of the repository at `root`.
Catalog repositoryCatalog(const std::string &root);

/// A tiny model through all stages. `root` is the repository.
Compilation compileTiny(const Catalog &catalog, const std::string &profile,
                        const TinyModel &model = TinyModel());

/// The files of generated/tiny: the module at each stage, and the emitted sources.
std::vector<EmittedFile> exampleFiles(const std::string &root);

} // namespace writ::test
