#include "tests/emit/Example.h"

namespace writ::test {

Catalog repositoryCatalog(const std::string &root) {
  return Catalog::load({root + "/contracts", root + "/kernel_maps", root + "/circuits"}, {});
}

Compilation compileTiny(const Catalog &catalog, const std::string &profile,
                        const TinyModel &model) {
  CircuitInstance instance = instantiate(catalog, findCircuit(catalog, model), model);
  Compilation compilation;
  compilation.buildRequirements(instance, catalog, catalog.profiles().at(profile));
  compilation.run(catalog);
  return compilation;
}

std::vector<EmittedFile> exampleFiles(const std::string &root) {
  const Catalog catalog = repositoryCatalog(root);
  const TinyModel model;
  CircuitInstance instance = instantiate(catalog, findCircuit(catalog, model), model);
  Compilation compilation;
  compilation.buildRequirements(instance, catalog, catalog.profiles().at("portable"));
  std::vector<EmittedFile> files = {{"ir/requirements.mlir", compilation.text()}};
  compilation.resolve(catalog);
  compilation.buildGraph();
  files.push_back({"ir/graph.mlir", compilation.text()});
  compilation.lower();
  files.push_back({"ir/lowered.mlir", compilation.text()});
  compilation.toCall();
  files.push_back({"ir/call.mlir", compilation.text()});
  for (EmittedFile &file : emitCpp(compilation.callModel()))
    files.push_back(std::move(file));
  return files;
}

} // namespace writ::test
