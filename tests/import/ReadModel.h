//===- ReadModel.h - all that the compiler reads of a model file ----------===//
#pragma once

#include "compiler/Import/Circuit.h"
#include "compiler/Import/Inspect.h"
#include "compiler/Import/ReadTokenizer.h"

#include <string>

namespace writ::test {

/// What was refused of a model file, each as its diagnostics' text; "" is nothing.
struct Refusals {
  std::string file, circuit, tokenizer;
  std::string chat; ///< any template is, since none is declared here
};

/// Runs `step`; the text of the Error that it throws, or "". Nothing else may come out.
template <typename Step> std::string refusalOf(Step step) {
  try {
    step();
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

/// Opens the bytes, shows them, binds them to their circuit and reads their tokenizer, the last two
/// whatever the other says. `instance` is complete where the circuit refuses nothing.
inline Refusals readModel(std::span<const std::byte> bytes, const std::string &name,
                          const Catalog &catalog, CircuitInstance *instance = nullptr) {
  Refusals refusals;
  refusals.file = refusalOf([&] {
    const auto model = openModelBytes(bytes, name);
    inspectText(*model);
    inspectJson(*model).dump();
    refusals.circuit = refusalOf([&] {
      CircuitInstance made = instantiate(catalog, findCircuit(catalog, *model), *model);
      if (instance)
        *instance = std::move(made);
    });
    TokenizerData tokenizer;
    refusals.tokenizer = refusalOf([&] { tokenizer = readTokenizer(*model); });
    if (refusals.tokenizer.empty())
      refusals.chat = refusalOf([&] { matchChatTemplate(*model, tokenizer, {}); });
  });
  return refusals;
}

/// Whether a refusal stands at a place of the model file or of its circuit.
inline bool isPlaced(const std::string &refusal, const std::string &name, const Catalog &catalog) {
  return refusal.empty() || refusal.starts_with(name + ": error: ") ||
         refusal.starts_with(catalog.paths().circuits + "/");
}

} // namespace writ::test
