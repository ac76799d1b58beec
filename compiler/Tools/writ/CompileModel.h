//===- CompileModel.h - from a model file to CallIR -----------------------===//
#pragma once

#include "compiler/Import/Circuit.h"
#include "compiler/Passes/Pipeline.h"
#include "compiler/Resolve/Evidence.h"
#include "compiler/Tools/writ/Commands.h"
#include "writ/chat.h"
#include "writ/tokenizer.h"

#include <memory>
#include <optional>
#include <string>

namespace writ::tool {

/// Everything that a package is written from.
struct CompiledModel {
  std::unique_ptr<ModelFile> file;
  std::string fileSha256;
  Catalog catalog;
  std::string profile;
  int32_t leastIsa = 0; ///< a writ_isa
  CircuitInstance instance;
  TokenizerData tokenizer;
  std::optional<ChatTemplate> chat;
  std::optional<Diagnostic> chatFault; ///< of a template that the circuit does not declare
  std::string graphIr, loweredIr, callIr;
  std::vector<ResolvedRequirement> resolutions;
  CallModel call;
};

/// Refuses a package where a model file is wanted (E020).
void requireNoPackage(const std::string &path);

/// Reads, instantiates, resolves and lowers. --require demands invariance (E104), production
/// current evidence (E103).
CompiledModel compileModel(const std::string &path, const CompileOptions &options);

/// The evidence that production needs for the model.
std::vector<EvidenceNeed> evidenceNeeds(const CompiledModel &model);

/// What the installed provider and reference sources are, added to the catalog's digests.
CurrentDigests currentDigests(const Catalog &catalog);

} // namespace writ::tool
