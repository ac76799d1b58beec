//===- Session.h - opening what the user named ----------------------------===//
#pragma once

#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/FaultGuard.h"
#include "compiler/Tools/writ/ProgressLine.h"
#include "writ/writ.h"

#include <memory>
#include <string>
#include <vector>

namespace writ::tool {

/// The machine lacks something; exit code 3. The text is a diagnostic's.
class EnvironmentError : public Error {
public:
  using Error::Error;
};

/// The command line alone is wrong, whatever the files hold; exit code 2.
class UsageError : public Error {
public:
  using Error::Error;
};

/// Throws what a failed call of the C API says (E050), with `subject` as its place.
void check(writ_status status, const writ_error &error, const std::string &subject);

struct PackageCloser {
  void operator()(writ_package *package) const {
    guardPackage(nullptr);
    writ_package_close(package, nullptr);
  }
};
struct SessionDestroyer {
  void operator()(writ_session *session) const { writ_session_destroy(session, nullptr); }
};
using PackagePtr = std::unique_ptr<writ_package, PackageCloser>;
using SessionPtr = std::unique_ptr<writ_session, SessionDestroyer>;

/// What a package and a session say of themselves.
writ_package_info packageInfo(const writ_package *package);
writ_session_options usedOptions(const writ_session *session);

/// Whether the path is a package folder (it holds a lock).
bool isPackage(const std::string &path);

/// Opens a package, or compiles a model file into the cache (once for the same inputs, and again
/// where what lies there is damaged) and opens that. E051 where compile options are given with a
/// package.
PackagePtr openTarget(const std::string &target, const CompileOptions &compile, bool verify);

/// What a session is for.
struct SessionShape {
  int64_t tokens = 0;  ///< that are read in steps; no step is larger
  int64_t longest = 0; ///< the longest sequence, where the user names no context
  bool allOutputs = false;
  ReadingLine *reading = nullptr; ///< shows how far they are; outlives the session
  int64_t sequences = 1;          ///< that share each step
  int64_t pageSize = 0;           ///< 0: the runtime's
  uint64_t pageOrder = 0;         ///< not 0: the seed of a shuffled order of pages
  writ_trace trace = nullptr;     ///< instead of `reading`
  void *traceUser = nullptr;
};
/// Creates a session. E051 where `tokens` do not fit the context, or that not the model's.
SessionPtr openSession(const writ_package *package, const SessionOptions &options,
                       const SessionShape &shape);

std::vector<int32_t> tokenizeText(const writ_package *package, const std::string &text,
                                  int32_t flags);
std::string detokenize(const writ_package *package, const std::vector<int32_t> &ids, bool special);

/// Reads all of standard input. Interrupted (Compile.h) where Ctrl-C came meanwhile.
std::string readStandardInput();

/// 1 after SIGINT or SIGTERM. Handlers are installed by the first call.
const volatile int32_t *interruptFlag();

} // namespace writ::tool
