//===- WithoutCompiler.cpp - `writ`, which does not load MLIR ---------------===//
//
// The commands are those of `writ-compiler`, but for the passes: what would run one has become the
// other program before (needCompiler), so that none of the functions below is ever called.
//
//===----------------------------------------------------------------------===//
#include "compiler/Passes/Pipeline.h"
#include "compiler/Tools/writ/Compiler.h"
#include "compiler/Tools/writ/Install.h"
#include "compiler/Tools/writ/Session.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <unistd.h>

namespace writ {
namespace tool {

void needCompiler(char **arguments) {
  const std::string program =
      (std::filesystem::path(executablePath()).parent_path() / "writ-compiler").string();
  ::execv(program.c_str(), arguments);
  throw EnvironmentError({program}, "E001",
                         fmt::format("cannot be started: {}", std::strerror(errno)));
}

} // namespace tool

struct Compilation::State {};

namespace {
[[noreturn]] void unreachable() {
  throw std::logic_error("a command that needs the compiler did not say so");
}
} // namespace

Compilation::Compilation() {
  unreachable();
}
Compilation::~Compilation() = default;
Compilation::Compilation(Compilation &&) noexcept = default;
Compilation &Compilation::operator=(Compilation &&) noexcept = default;
void Compilation::buildRequirements(const CircuitInstance &, const Catalog &, const Profile &,
                                    const BuildOptions &) {
  unreachable();
}
std::vector<Requirement> Compilation::requirements(const Catalog &) const {
  unreachable();
}
void Compilation::resolve(const Catalog &) {
  unreachable();
}
void Compilation::buildGraph() {
  unreachable();
}
void Compilation::lower(
    std::function<int64_t(std::string_view, std::string_view, int64_t, int64_t)>) {
  unreachable();
}
void Compilation::toCall() {
  unreachable();
}
void Compilation::run(const Catalog &) {
  unreachable();
}
std::string Compilation::text() const {
  unreachable();
}
void Compilation::parse(std::string_view, const std::string &) {
  unreachable();
}
void Compilation::checkResolution() {
  unreachable();
}
const std::vector<ResolvedRequirement> &Compilation::resolutions() const {
  unreachable();
}
std::vector<ResolvedOp> Compilation::resolvedOps() const {
  unreachable();
}
std::string Compilation::resolutionDigest() const {
  unreachable();
}
CallModel Compilation::callModel() const {
  unreachable();
}

} // namespace writ
