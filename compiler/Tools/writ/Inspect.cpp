//===- Inspect.cpp - `writ inspect` ---------------------------------------===//
#include "compiler/Import/Inspect.h"
#include "compiler/Tools/writ/Commands.h"

#include <cstdio>

namespace writ::tool {

int runInspect(const InspectCommand &command) {
  const std::unique_ptr<ModelFile> model = openModelFile(command.model);
  if (command.json)
    std::puts(inspectJson(*model).dump(2).c_str());
  else
    std::fputs(inspectText(*model).c_str(), stdout);
  return exitOk;
}

} // namespace writ::tool
