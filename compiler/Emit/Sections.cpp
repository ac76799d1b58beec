#include "compiler/Emit/Sections.h"

#include <algorithm>
#include <map>
#include <set>

namespace writ {
namespace {

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string identifier(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    result += plain ? c : '_';
  }
  return result;
}

/// Where the value lies; this alone may differ between the rows of a kind.
bool isPlace(const CallValue &value) {
  return std::holds_alternative<CallBuffer>(value) || std::holds_alternative<CallWeight>(value) ||
         std::holds_alternative<CallKvLayer>(value);
}

bool alike(const CallValue &a, const CallValue &b) {
  if (a.index() != b.index())
    return false;
  if (auto buffer = std::get_if<CallBuffer>(&a))
    return buffer->arena == std::get<CallBuffer>(b).arena;
  return isPlace(a) || a == b;
}

/// What the emitted text would say of a place.
int64_t placeOf(const CallValue &value) {
  if (auto buffer = std::get_if<CallBuffer>(&value))
    return buffer->offset;
  if (auto weight = std::get_if<CallWeight>(&value))
    return weight->offset;
  return std::get<CallKvLayer>(value).index;
}

bool alike(const Call &a, const Call &b) {
  return a.symbol == b.symbol && a.section == b.section && localName(a.op) == localName(b.op) &&
         std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    [](const CallArgument &x, const CallArgument &y) {
                      return x.name == y.name && x.type == y.type && alike(x.value, y.value);
                    });
}

bool samePlaces(const Call &a, const Call &b) {
  for (size_t i = 0; i < a.arguments.size(); ++i)
    if (isPlace(a.arguments[i].value) &&
        placeOf(a.arguments[i].value) != placeOf(b.arguments[i].value))
      return false;
  return true;
}

class Grouping {
public:
  std::vector<SectionRun> add(const std::vector<Call> &calls) {
    std::vector<SectionRun> runs;
    for (size_t begin = 0, end; begin < calls.size(); begin = end) {
      end = begin + 1;
      while (end < calls.size() && calls[end].section == calls[begin].section &&
             calls[end].layer == calls[begin].layer)
        ++end;
      addBlock(&calls[begin], end - begin, runs);
    }
    return runs;
  }

  std::vector<SectionKind> finish() {
    for (SectionKind &kind : result) {
      findFields(kind);
      if (kind.fields.empty())
        kind.rows.resize(1);
    }
    return std::move(result);
  }

private:
  void addBlock(const Call *calls, size_t count, std::vector<SectionRun> &runs) {
    size_t kind = kindOf(calls, count);
    size_t row = rowOf(result[kind], calls);
    if (!runs.empty() && runs.back().kind == kind && runs.back().row + runs.back().count == row)
      ++runs.back().count;
    else
      runs.push_back({kind, row, 1});
  }

  size_t kindOf(const Call *calls, size_t count) {
    size_t ofSection = 0;
    for (size_t i = 0; i < result.size(); ++i) {
      if (result[i].section != calls->section)
        continue;
      ++ofSection;
      if (result[i].callCount == count &&
          std::equal(calls, calls + count, result[i].rows[0].calls,
                     [](const Call &a, const Call &b) { return alike(a, b); }))
        return i;
    }
    std::string name = identifier(calls->section);
    if (ofSection > 0)
      name += "_" + std::to_string(ofSection + 1);
    result.push_back({name, calls->section, count, {}, {{calls->layer, calls}}});
    return result.size() - 1;
  }

  size_t rowOf(SectionKind &kind, const Call *calls) {
    for (size_t i = 0; i < kind.rows.size(); ++i)
      if (kind.rows[i].layer == calls->layer &&
          std::equal(calls, calls + kind.callCount, kind.rows[i].calls, samePlaces))
        return i;
    kind.rows.push_back({calls->layer, calls});
    return kind.rows.size() - 1;
  }

  static void findFields(SectionKind &kind) {
    std::set<std::string> names;
    const Call *first = kind.rows[0].calls;
    for (size_t call = 0; call < kind.callCount; ++call)
      for (size_t argument = 0; argument < first[call].arguments.size(); ++argument) {
        const CallValue &value = first[call].arguments[argument].value;
        if (!isPlace(value) ||
            std::all_of(kind.rows.begin(), kind.rows.end(), [&](const SectionRow &row) {
              return placeOf(row.calls[call].arguments[argument].value) == placeOf(value);
            }))
          continue;
        std::string name =
            localName(first[call].op) + "_" + identifier(first[call].arguments[argument].name);
        std::string unique = name;
        for (int n = 2; !names.insert(unique).second; ++n)
          unique = name + "_" + std::to_string(n);
        kind.fields.push_back({call, argument, unique});
      }
  }

  std::vector<SectionKind> result;
};

} // namespace

std::string localName(const std::string &op) {
  size_t from = 0;
  for (size_t begin = 0; begin < op.size();) {
    size_t end = std::min(op.find('.', begin), op.size());
    if (isNumber(std::string_view(op).substr(begin, end - begin)) && end < op.size())
      from = end + 1;
    begin = end + 1;
  }
  return identifier(std::string_view(op).substr(from));
}

Sections groupSections(const CallModel &model) {
  Grouping grouping;
  Sections sections;
  sections.prefill = grouping.add(model.prefill);
  sections.decode = grouping.add(model.decode);
  sections.kinds = grouping.finish();
  return sections;
}

} // namespace writ
