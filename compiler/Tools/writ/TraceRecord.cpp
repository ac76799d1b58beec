#include "compiler/Tools/writ/TraceRecord.h"

#include "compiler/Support/FileIO.h"
#include "compiler/Support/Json.h"

#include <charconv>
#include <fmt/format.h>
#include <unordered_map>

namespace writ::tool {
namespace {

constexpr const char *kSchema = "writ.trace.v1";
constexpr size_t kDigits = 16; // of a digest

std::vector<uint64_t> digestsOf(const Json &text, size_t count) {
  const std::string &digits = text.asString();
  if (digits.size() != count * kDigits)
    throw Error(text.location(), "E050",
                fmt::format("it has {} digits, expected {}", digits.size(), count * kDigits));
  std::vector<uint64_t> digests(count);
  for (size_t i = 0; i < count; ++i) {
    const char *begin = digits.data() + i * kDigits, *end = begin + kDigits;
    const auto [next, code] = std::from_chars(begin, end, digests[i], 16);
    if (code != std::errc() || next != end)
      throw Error(text.location(), "E050",
                  fmt::format("'{}' is no digest", std::string_view(begin, kDigits)));
  }
  return digests;
}

} // namespace

void saveTrace(const std::string &path, const TraceRecord &record) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const TraceRecord::Op &op : record.ops)
    ops.push_back({{"name", op.name}, {"family", op.family}, {"layer", op.layer}});
  std::string digits;
  digits.reserve(record.digests.size() * kDigits);
  for (uint64_t digest : record.digests)
    fmt::format_to(std::back_inserter(digits), "{:016x}", digest);
  const nlohmann::ordered_json json{{"schema", kSchema},
                                    {"settings", record.settings},
                                    {"sequences", record.sequences},
                                    {"ids", record.ids},
                                    {"ops", ops},
                                    {"digests", digits}};
  writeFileAtomically(path, json.dump() + "\n");
}

TraceRecord loadTrace(const std::string &path) {
  const Json json = parseJson(readFile(path), path);
  if (const Json &schema = json.at("schema"); schema.asString() != kSchema)
    throw Error(schema.location(), "E050",
                fmt::format("schema is '{}', this tool reads '{}'", schema.asString(), kSchema));
  TraceRecord record;
  record.settings = json.at("settings").plain();
  record.sequences = json.at("sequences").asInteger();
  for (const Json &id : json.at("ids").elements())
    record.ids.push_back(int32_t(id.asInteger()));
  for (const Json &op : json.at("ops").elements())
    record.ops.push_back(
        {op.at("name").asString(), op.at("family").asString(), op.at("layer").asInteger()});
  if (record.ids.empty() || record.ops.empty() || record.sequences < 1)
    throw Error(json.location(), "E050", "the trace is empty");
  record.digests = digestsOf(json.at("digests"),
                             record.ids.size() * size_t(record.sequences) * record.ops.size());
  return record;
}

TraceComparison compareTraces(const TraceRecord &a, const TraceRecord &b) {
  TraceComparison result;
  std::unordered_map<std::string, size_t> ofB;
  for (size_t op = 0; op < b.ops.size(); ++op)
    ofB[b.ops[op].name] = op;
  std::vector<std::pair<size_t, size_t>> both;
  for (size_t op = 0; op < a.ops.size(); ++op)
    if (const auto it = ofB.find(a.ops[op].name); it != ofB.end()) {
      both.emplace_back(op, it->second);
      ofB.erase(it);
    } else {
      result.onlyA.push_back(a.ops[op].name);
    }
  for (const TraceRecord::Op &op : b.ops)
    if (ofB.contains(op.name))
      result.onlyB.push_back(op.name);
  for (int64_t row = 0; row < int64_t(a.ids.size()); ++row)
    for (const auto &[opA, opB] : both) {
      const RowPlace first{opA, row, 0};
      const uint64_t expected = a.digests[a.indexOf(first)];
      const auto compare = [&](const TraceRecord &other, const RowPlace &place) {
        ++result.compared;
        if (other.digests[other.indexOf(place)] == expected)
          return;
        ++result.differing;
        if (!result.a) {
          result.a = &other == &a ? place : first;
          result.b = &other == &a ? std::nullopt : std::optional(place);
        }
      };
      for (int64_t sequence = 1; sequence < a.sequences; ++sequence)
        compare(a, {opA, row, sequence});
      for (int64_t sequence = 0; sequence < b.sequences; ++sequence)
        compare(b, {opB, row, sequence});
    }
  return result;
}

} // namespace writ::tool
