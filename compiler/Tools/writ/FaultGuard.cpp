#include "compiler/Tools/writ/FaultGuard.h"

#include "compiler/Tools/writ/Commands.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace writ::tool {
namespace {

std::atomic<const writ_package *> guarded{nullptr};
static_assert(std::atomic<const writ_package *>::is_always_lock_free, "a signal handler reads it");

/// Calls nothing but what a signal handler may call.
void onBusError(int signal, siginfo_t *info, void *) {
  if (info->si_code == BUS_ADRALN) { // a fault of the program, not of a file
    std::signal(signal, SIG_DFL);
    return; // to the same instruction
  }
  if (writ_package_contain_fault(guarded.load(), info->si_addr))
    return;
  static constexpr char text[] =
      "\nwrit: error: a file in use became shorter, or its disk failed, while it was read [E001]\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(exitEnvironment);
}

} // namespace

void guardMappedFiles() {
  struct sigaction action {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

void guardPackage(const writ_package *package) {
  guarded.store(package);
}

} // namespace writ::tool
