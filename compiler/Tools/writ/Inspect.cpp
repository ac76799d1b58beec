//===- Inspect.cpp - `writ inspect` ---------------------------------------===//
#include "compiler/Import/Inspect.h"
#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/Output.h"

namespace writ::tool {

int runInspect(const InspectCommand &command) {
  const std::unique_ptr<ModelFile> model = openModelFile(command.model);
  if (command.json)
    printLine(inspectJson(*model).dump(2));
  else
    print(inspectText(*model));
  return exitOk;
}

} // namespace writ::tool
