"""One configuration for every lit suite of the project (tests/ir, tests/passes)."""
import os

import lit.formats

config.name = "writ-" + os.path.basename(os.path.normpath(config.test_source_root))
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir"]
config.environment["PATH"] = os.pathsep.join(
    [config.writ_tools_dir, config.llvm_tools_dir, config.environment["PATH"]])
config.substitutions.append(("%root", config.writ_root))
