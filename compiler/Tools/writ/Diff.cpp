//===- Diff.cpp - `writ diff` ---------------------------------------------===//
//
// A changed lock is a changed model: what changed is what the locks say. Whether the files are what
// their lock says is the affair of `writ verify`.
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Utf8.h"
#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/LockDiff.h"
#include "compiler/Tools/writ/LockedFile.h"
#include "compiler/Tools/writ/Output.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace writ::tool {
namespace {

/// Of a group of ops that changed alike, as many are named; --json has them all.
constexpr size_t kNamed = 3;

/// "'x' → 'y'", or which of the two has it.
std::string changeText(const LockChange &change, const DiffCommand &command) {
  if (change.a.is_null())
    return "only in " + command.b;
  if (change.b.is_null())
    return "only in " + command.a;
  return fmt::format("{} → {}", wordsOf(change.a), wordsOf(change.b));
}

/// Ops that changed alike share a line: a model has hundreds of them.
class OpLines {
public:
  explicit OpLines(const DiffCommand &command) : command(command) {}

  /// False where the change is not one of {"resolutions", op[, phase[, field]]}.
  bool add(const LockChange &change) {
    const std::vector<std::string> &path = change.path;
    if (path.front() != "resolutions" || path.size() < 2)
      return false;
    std::string &text = ops[printable(path[1])][path.size() > 2 ? printable(path[2]) : ""];
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ",
                    path.size() > 3 ? printable(path[3]) + " " : "", changeText(change, command));
    return true;
  }

  /// Prints what was added since the last time.
  void print() {
    std::vector<std::pair<std::string, std::vector<std::string>>> lines;
    for (const auto &[op, phases] : ops) {
      const std::string text = textOf(phases);
      auto line = std::find_if(lines.begin(), lines.end(),
                               [&](const auto &entry) { return entry.first == text; });
      if (line == lines.end())
        line = lines.insert(lines.end(), {text, {}});
      line->second.push_back(op);
    }
    for (const auto &[text, names] : lines) {
      const std::vector<std::string> first(names.begin(),
                                           names.begin() + long(std::min(kNamed, names.size())));
      const size_t more = names.size() - first.size();
      printLine(fmt::format("{} {}{}{}", names.size() > 1 ? "ops" : "op", fmt::join(first, ", "),
                            more ? fmt::format(" and {} more", more) : "", text));
    }
    ops.clear();
  }

private:
  using Phases = std::map<std::string, std::string>;

  /// " (decode, prefill): …": phases that changed alike stand together.
  static std::string textOf(const Phases &phases) {
    std::map<std::string, std::vector<std::string>> byText;
    for (const auto &[phase, text] : phases)
      byText[text].push_back(phase);
    std::vector<std::string> parts;
    for (const auto &[text, names] : byText)
      parts.push_back(names.front().empty()
                          ? ": " + text
                          : fmt::format(" ({}): {}", fmt::join(names, ", "), text));
    return fmt::format("{}", fmt::join(parts, ";"));
  }

  const DiffCommand &command;
  std::map<std::string, Phases> ops;
};

void printWords(const DiffCommand &command, const std::vector<LockChange> &changes) {
  OpLines ops(command);
  for (const LockChange &change : changes) {
    if (ops.add(change))
      continue;
    ops.print();
    printLine(fmt::format("{}: {}", wordsOf(change.path), changeText(change, command)));
  }
  ops.print();
  if (changes.empty())
    printLine("the locks are the same");
}

} // namespace

int runDiff(const DiffCommand &command) {
  const std::vector<LockChange> changes =
      lockChanges(readLock(command.a).plain(), readLock(command.b).plain());
  if (command.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const LockChange &change : changes)
      list.push_back({{"path", change.path}, {"a", change.a}, {"b", change.b}});
    printLine(nlohmann::ordered_json{{"same", changes.empty()}, {"changes", list}}.dump(2));
  } else {
    printWords(command, changes);
  }
  return changes.empty() ? exitOk : exitDiffers;
}

} // namespace writ::tool
