//===- Trace.cpp - `writ trace` -------------------------------------------===//
//
// Two runs over one history are compared op by op and row by row. All that an op reads was made by
// ops before it and kept by rows before its own: the first difference, by row and then by op, is
// where the runs part.
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/FileIO.h"
#include "compiler/Support/Utf8.h"
#include "compiler/Tools/writ/OpTrace.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/TokenIds.h"
#include "compiler/Tools/writ/Tokens.h"

#include <algorithm>
#include <fmt/format.h>

namespace writ::tool {
namespace {

using Object = nlohmann::ordered_json;

std::vector<int32_t> historyOf(const TraceCommand &command, const writ_package *a,
                               const writ_package *b) {
  std::vector<int32_t> ids;
  if (command.idsFile)
    ids = parseIds(readFile(*command.idsFile), *command.idsFile);
  else if (command.textFile)
    ids = tokenizeText(a, readFile(*command.textFile),
                       WRIT_TOKENIZE_ADD_SPECIAL | WRIT_TOKENIZE_PARSE_SPECIAL);
  else {
    const writ_package_info ofA = packageInfo(a), ofB = packageInfo(b);
    return someTokens(std::min(ofA.vocabulary, ofB.vocabulary), ofA.bos_token,
                      std::min({command.tokens, ofA.context_length, ofB.context_length}));
  }
  if (ids.empty())
    throw Error({command.idsFile ? *command.idsFile : *command.textFile}, "E051",
                "there is no token to trace");
  return ids;
}

/// One of the two runs: what it made, and how to make a row of it again; none where it was saved.
struct Side {
  const TraceRecord *record = nullptr;
  OpTrace *run = nullptr;
};

/// A row of a side, where it can be made again.
struct SideRow {
  RowPlace place;
  std::optional<TracedRow> row;
};

Object rowJson(const SideRow &side) {
  Object json{{"sequence", side.place.sequence}};
  if (const auto &row = side.row)
    json.update({{"phase", row->phase},
                 {"provider", row->provider},
                 {"isa", row->isa < 0 ? Object() : Object(writ_isa_name(row->isa))},
                 {"row", row->row},
                 {"rows", row->rows}});
  return json;
}

std::string rowText(const SideRow &side, const Object &settings) {
  const std::string session = fmt::format("{} threads, chunk {}", settings.at("threads").dump(),
                                          settings.at("chunk").dump());
  const std::string sequence = settings.at("batch").get<int64_t>() > 1
                                   ? fmt::format(" (sequence {})", side.place.sequence)
                                   : "";
  if (!side.row)
    return fmt::format("saved{}, {}; {}", sequence, settings.at("isa").get<std::string>(), session);
  return fmt::format("{} in {}, row {} of {}{}, {}; {}", side.row->provider, side.row->phase,
                     side.row->row, side.row->rows, sequence,
                     side.row->isa < 0 ? "no body" : writ_isa_name(side.row->isa), session);
}

bool sameShape(const TracedRow &a, const TracedRow &b) {
  const auto sameField = [](const RowField &x, const RowField &y) {
    return x.type == y.type && x.count == y.count;
  };
  return std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    [&](const auto &x, const auto &y) {
                      return x.first == y.first &&
                             std::equal(x.second.begin(), x.second.end(), y.second.begin(),
                                        y.second.end(), sameField);
                    });
}

std::string shapeText(const TracedRow &row) {
  std::vector<std::string> parts;
  for (const auto &[name, fields] : row.operands)
    for (const RowField &field : fields)
      parts.push_back(fmt::format("{} {} {}", name, field.count, field.type));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Adds the first element that differs to `first`; the line that says it.
std::string elementOf(const TracedRow &a, const TracedRow &b, Object &first) {
  if (!sameShape(a, b))
    return fmt::format("  A made {}, B made {}", shapeText(a), shapeText(b));
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const auto &[operand, fields] = a.operands[i];
    const auto difference = firstDifference(fields, a.values[i], b.values[i]);
    if (!difference)
      continue;
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const RowField &candidate) {
      return candidate.name == difference->field;
    });
    const std::string valueA = valueText(difference->type, difference->a),
                      valueB = valueText(difference->type, difference->b);
    first.update({{"operand", operand},
                  {"field", difference->field},
                  {"type", difference->type},
                  {"element", difference->index},
                  {"elements", field->count},
                  {"differing_elements", difference->elements}});
    first["a"]["value"] = valueA;
    first["b"]["value"] = valueB;
    return fmt::format("  {}[{}]{} of {} {}: A {}, B {}; {} elements of the row differ", operand,
                       difference->index,
                       difference->field.empty() ? "" : " of the " + difference->field,
                       field->count, difference->type, valueA, valueB, difference->elements);
  }
  return "  a second run of both gave the same bits here: they change from run to run";
}

/// Where the runs part, for programs; `lines` says it for people.
Object firstOf(const Side &a, const Side &b, const TraceComparison &comparison,
               const volatile int32_t *stop, std::vector<std::string> &lines) {
  // Without B's place the sequences of A differ among themselves.
  const Side &other = comparison.b ? b : a;
  const RowPlace placeA =
      comparison.b ? *comparison.a : RowPlace{comparison.a->op, comparison.a->position, 0};
  const RowPlace placeB = comparison.b ? *comparison.b : *comparison.a;
  const auto rowOf = [&](const Side &side, const RowPlace &place) {
    return SideRow{place, side.run ? std::optional(side.run->rowAt(place, stop)) : std::nullopt};
  };
  const SideRow rowA = rowOf(a, placeA), rowB = rowOf(other, placeB);
  const TraceRecord::Op &op = a.record->ops[placeA.op];
  Object first{{"op", op.name},
               {"family", op.family},
               {"layer", op.layer < 0 ? Object() : Object(op.layer)},
               {"position", placeA.position},
               {"a", rowJson(rowA)},
               {"b", rowJson(rowB)}};
  lines.push_back(fmt::format("the bits differ first at position {}, in '{}' ({}{})",
                              placeA.position, printable(op.name), printable(op.family),
                              op.layer < 0 ? "" : fmt::format(", layer {}", op.layer)));
  lines.push_back("  A  " + rowText(rowA, a.record->settings));
  lines.push_back("  B  " + rowText(rowB, other.record->settings));
  if (rowA.row && rowB.row)
    lines.push_back(elementOf(*rowA.row, *rowB.row, first));
  return first;
}

void sayMissing(const char *side, const std::vector<std::string> &ops) {
  if (!ops.empty())
    printLine(fmt::format("{} ops are in {} alone, the first is '{}'", ops.size(), side,
                          printable(ops.front())));
}

int report(const TraceCommand &command, const Side &a, const Side &b,
           const volatile int32_t *stop) {
  const TraceComparison comparison = compareTraces(*a.record, *b.record);
  if (comparison.compared == 0)
    throw Error({b.record->settings.at("target").get<std::string>()}, "E051",
                fmt::format("no op of it has the name of one of '{}'",
                            printable(a.record->settings.at("target").get<std::string>())));
  std::vector<std::string> lines;
  const Object first = comparison.a ? firstOf(a, b, comparison, stop, lines) : Object();
  if (command.json) {
    printLine(Object{
        {"same", comparison.differing == 0},
        {"tokens", a.record->ids.size()},
        {"rows_compared", comparison.compared},
        {"rows_differing", comparison.differing},
        {"a", a.record->settings},
        {"b", b.record->settings},
        {"only_a", comparison.onlyA},
        {"only_b", comparison.onlyB},
        {"first",
         first}}.dump(2));
    return comparison.differing ? exitDiffers : exitOk;
  }
  for (const std::string &line : lines)
    printLine(line);
  if (lines.empty())
    printLine(fmt::format("the same bits: {} rows of {} ops over {} tokens", comparison.compared,
                          a.record->ops.size() - comparison.onlyA.size(), a.record->ids.size()));
  else
    printLine(fmt::format("{} of {} rows of ops differ over {} tokens", comparison.differing,
                          comparison.compared, a.record->ids.size()));
  sayMissing("A", comparison.onlyA);
  sayMissing("B", comparison.onlyB);
  return comparison.differing ? exitDiffers : exitOk;
}

/// A was saved: what is named runs as B.
int compareWithSaved(const TraceCommand &command, const volatile int32_t *stop) {
  const TraceRecord saved = loadTrace(*command.against);
  const PackagePtr package =
      openTarget(command.a.target, command.compile, command.a.session.verify);
  OpTrace trace(package.get(), command.a, saved.ids);
  trace.run(stop);
  return report(command, {&saved, nullptr}, {&trace.record(), &trace}, stop);
}

int save(const TraceCommand &command, const volatile int32_t *stop) {
  const PackagePtr package =
      openTarget(command.a.target, command.compile, command.a.session.verify);
  OpTrace trace(package.get(), command.a, historyOf(command, package.get(), package.get()));
  trace.run(stop);
  saveTrace(*command.save, trace.record());
  return exitOk;
}

void requireOneRun(const TraceCommand &command) {
  if (command.save && command.against)
    throw UsageError({"--save"}, "E051", "a trace is saved, or compared with --against, not both");
  if (!command.b.target.empty())
    throw UsageError({command.save ? "--save" : "--against"}, "E051",
                     fmt::format("it takes one package, got '{}' as well", command.b.target));
  if (command.against && (command.idsFile || command.textFile))
    throw UsageError({"--against"}, "E051", "the saved trace has its own history");
}

} // namespace

int runTrace(const TraceCommand &command) {
  const volatile int32_t *stop = interruptFlag();
  if (command.save || command.against) {
    requireOneRun(command);
    return command.save ? save(command, stop) : compareWithSaved(command, stop);
  }
  TraceSide sideB = command.b;
  if (sideB.target.empty())
    sideB.target = command.a.target;
  const PackagePtr a = openTarget(command.a.target, command.compile, command.a.session.verify);
  const PackagePtr b = openTarget(sideB.target, command.compile, sideB.session.verify);
  const std::vector<int32_t> ids = historyOf(command, a.get(), b.get());
  OpTrace traceA(a.get(), command.a, ids), traceB(b.get(), sideB, ids);
  traceA.run(stop);
  traceB.run(stop);
  return report(command, {&traceA.record(), &traceA}, {&traceB.record(), &traceB}, stop);
}

} // namespace writ::tool
