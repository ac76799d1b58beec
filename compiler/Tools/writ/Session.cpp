//===- Session.cpp - opening what the user named --------------------------===//
#include "compiler/Tools/writ/Session.h"

#include "compiler/Tools/writ/Compile.h"
#include "compiler/Tools/writ/PackageCache.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace writ::tool {
namespace fs = std::filesystem;
namespace {

volatile int32_t interrupted = 0;

/// `user` is a bool: whether a line of progress stands on the terminal and has to be ended.
void logLine(void *user, int32_t level, const char *message) {
  if (level == WRIT_LOG_PROGRESS) { // replaces itself, which only a terminal can show
    if (!isatty(STDERR_FILENO))
      return;
    std::fprintf(stderr, "\r%s", message);
    *static_cast<bool *>(user) = true;
  } else if (level >= WRIT_LOG_WARNING) {
    std::fprintf(stderr, "writ: warning: %s\n", message);
  }
}

} // namespace

void check(writ_status status, const writ_error &error, const std::string &subject) {
  if (status == WRIT_OK)
    return;
  Diagnostic diagnostic{{subject}, "E050", error.text, {}};
  if (status == WRIT_IO_ERROR || status == WRIT_OUT_OF_MEMORY)
    throw EnvironmentError(diagnostic);
  throw Error(diagnostic);
}

writ_package_info packageInfo(const writ_package *package) {
  writ_package_info info{};
  info.struct_size = sizeof info;
  writ_error error;
  check(writ_package_get_info(package, &info, &error), error, "package");
  return info;
}

writ_session_options usedOptions(const writ_session *session) {
  writ_session_options used{};
  used.struct_size = sizeof used;
  writ_error error;
  check(writ_session_get_options(session, &used, &error), error, "session");
  return used;
}

bool isPackage(const std::string &path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

namespace {

writ_status openPackage(const std::string &path, bool verify, PackagePtr *package,
                        writ_error *error) {
  writ_open_options options;
  writ_open_options_init(&options);
  options.verify = verify;
  bool progress = false;
  options.log = logLine;
  options.log_user = &progress;
  writ_package *opened = nullptr;
  const writ_status status = writ_package_open(path.c_str(), &options, &opened, error);
  if (progress)
    std::fputc('\n', stderr);
  package->reset(opened);
  return status;
}

/// Whether compiling anew can help.
bool isDamage(writ_status status) {
  return status == WRIT_BAD_PACKAGE || status == WRIT_DIGEST_MISMATCH ||
         status == WRIT_VERSION_MISMATCH || status == WRIT_IO_ERROR;
}

} // namespace

PackagePtr openTarget(const std::string &target, const CompileOptions &compile, bool verify) {
  const bool cached = !isPackage(target);
  if (!cached && !compile.given.empty())
    throw Error({compile.given.front()}, "E051",
                fmt::format("'{}' is a package, whose compilation is done", target),
                {{{}, "leave the option out, or name the model file"}});
  std::string path = cached ? cachedPackage(target, compile) : target;
  PackagePtr package;
  writ_error error;
  writ_status status = openPackage(path, verify, &package, &error);
  if (cached && isDamage(status)) {
    // The user knows the model, not the package: it is ours to mend.
    std::fprintf(stderr, "writ: warning: the cached package is damaged and is compiled anew: %s\n",
                 error.text);
    removeCachedPackage(path);
    path = cachedPackage(target, compile);
    status = openPackage(path, verify, &package, &error);
  }
  check(status, error, path);
  guardPackage(package.get());
  return package;
}

/// The sequence must fit the user's context, and that the model's.
static void requireContext(const writ_package_info &info, int64_t given, int64_t tokens) {
  if (given > info.context_length)
    throw Error({"--ctx"}, "E051",
                fmt::format("{} tokens are more than the model's context of {}", given,
                            info.context_length));
  const int64_t context = given ? given : info.context_length;
  if (tokens > context)
    throw Error({given ? "--ctx" : info.path}, "E051",
                fmt::format("{} tokens do not fit into a context of {}", tokens, context),
                {{{}, fmt::format("the model's context is {}", info.context_length)}});
}

SessionPtr openSession(const writ_package *package, const SessionOptions &options,
                       const SessionShape &shape) {
  const writ_package_info info = packageInfo(package);
  requireContext(info, options.context, shape.tokens);
  writ_session_options session;
  writ_session_options_init(&session);
  session.threads = options.threads;
  session.context_tokens = options.context ? options.context : shape.longest;
  // A step is never larger than what there is to read.
  session.max_rows = options.chunk == kWholePrompt ? shape.tokens
                     : options.chunk == 0          ? kDefaultChunk
                                                   : options.chunk;
  session.max_rows = std::clamp<int64_t>(session.max_rows, 1, std::max<int64_t>(shape.tokens, 1));
  session.max_rows *= shape.sequences;
  session.max_sequences = shape.sequences;
  if (shape.allOutputs)
    session.max_outputs = session.max_rows;
  session.page_size = shape.pageSize ? shape.pageSize : session.page_size;
  session.page_order_seed = shape.pageOrder;
  session.trace = shape.trace;
  session.trace_user = shape.traceUser;
  session.isa = options.isa >= 0 ? options.isa : session.isa;
  session.pin = options.pin;
  if (const int32_t processors = writ_processor_count();
      options.pin && options.threads > processors)
    throw Error(
        {"--pin"}, "E051",
        fmt::format("{} threads are more than the {} processors that this process may run on",
                    options.threads, processors),
        {{{}, "lower --threads, or leave --pin out"}});
  if (shape.reading) {
    shape.reading->setCalls(info.call_count);
    session.trace = ReadingLine::afterKernel;
    session.trace_user = shape.reading;
  }
  if (options.isa < 0 && writ_isa_best() == WRIT_ISA_SCALAR)
    std::fputs("writ: note: this processor has none of the instruction sets that the kernels are "
               "written for; scalar code gives the same bits, slowly\n",
               stderr);
  writ_session *created = nullptr;
  writ_error error;
  const writ_status status = writ_session_create(package, &session, &created, &error);
  if (status == WRIT_UNSUPPORTED) // an instruction set that the machine lacks, or binding threads
    throw EnvironmentError({options.isa >= 0 ? "--isa"
                            : options.pin    ? "--pin"
                                             : info.path},
                           "E050", error.text);
  check(status, error, info.path);
  return SessionPtr(created);
}

std::vector<int32_t> tokenizeText(const writ_package *package, const std::string &text,
                                  int32_t flags) {
  writ_error error;
  int64_t needed = 0;
  writ_status status =
      writ_tokenize(package, text.data(), int64_t(text.size()), flags, nullptr, 0, &needed, &error);
  if (status != WRIT_BUFFER_TOO_SMALL)
    check(status, error, "text");
  std::vector<int32_t> ids(needed);
  if (needed)
    check(writ_tokenize(package, text.data(), int64_t(text.size()), flags, ids.data(), needed,
                        &needed, &error),
          error, "text");
  return ids;
}

std::string detokenize(const writ_package *package, const std::vector<int32_t> &ids, bool special) {
  writ_error error;
  int64_t needed = 0;
  writ_status status = writ_detokenize(package, ids.data(), int64_t(ids.size()), special, nullptr,
                                       0, &needed, &error);
  if (status != WRIT_BUFFER_TOO_SMALL)
    check(status, error, "ids");
  std::string text(needed, '\0');
  if (needed)
    check(writ_detokenize(package, ids.data(), int64_t(ids.size()), special, text.data(), needed,
                          &needed, &error),
          error, "ids");
  return text;
}

std::string readStandardInput() {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
    if (count == 0)
      return text;
    if (count > 0)
      text.append(buffer, size_t(count));
    else if (interrupted)
      throw Interrupted();
    else if (errno != EINTR)
      throw EnvironmentError({"standard input"}, "E001",
                             fmt::format("cannot be read: {}", std::strerror(errno)));
  }
}

const volatile int32_t *interruptFlag() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = SA_RESETHAND; // a second Ctrl-C ends at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &interrupted;
}

} // namespace writ::tool
