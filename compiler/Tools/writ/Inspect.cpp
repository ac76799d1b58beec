//===- Inspect.cpp - `writ inspect` ---------------------------------------===//
#include "compiler/Import/Inspect.h"
#include "compiler/Tools/writ/CompileModel.h"
#include "compiler/Tools/writ/Output.h"

namespace writ::tool {

int runInspect(const InspectCommand &command) {
  requireNoPackage(command.model);
  const std::unique_ptr<ModelFile> model = openModelFile(command.model);
  if (command.json)
    printLine(inspectJson(*model).dump(2));
  else
    print(inspectText(*model));
  return exitOk;
}

} // namespace writ::tool
