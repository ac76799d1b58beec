#include "compiler/Tools/writ/Compiler.h"

namespace writ::tool {

void needCompiler(char **) {}

} // namespace writ::tool
