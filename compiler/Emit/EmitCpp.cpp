//===- EmitCpp.cpp - CallIR → C++20 ---------------------------------------===//
#include "compiler/Emit/EmitCpp.h"

#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Emit/Sections.h"

#include <fmt/format.h>
#include <set>

namespace writ {
namespace {

constexpr size_t kColumns = 100;

/// A C string literal; bytes outside of printable ASCII as three octal digits.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (unsigned char c : text)
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", char(c));
    else if (c < 0x20 || c >= 0x7f || c == '?') // no trigraphs
      result += fmt::format("\\{:03o}", c);
    else
      result += char(c);
  return result + '"';
}

/// Foreign text in a comment of one line.
std::string comment(std::string_view text) {
  std::string result;
  for (unsigned char c : text)
    result += c < 0x20 || c == 0x7f || c == '\\' ? '?' : char(c);
  return result;
}

const std::string &symbol(const std::string &name) {
  bool plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  for (char c : name)
    plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  if (!plain)
    throw Error({}, "E204", fmt::format("'{}' is no C identifier; a kernel's symbol is one", name));
  return name;
}

std::string camelCase(const std::string &name) {
  std::string result;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    result += upper && c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    upper = false;
  }
  return result;
}

/// Joins items with ", " and breaks lines at the column limit.
std::string wrap(const std::vector<std::string> &items, size_t indent) {
  std::string text, line(indent, ' ');
  for (size_t i = 0; i < items.size(); ++i) {
    std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    if (line.size() > indent && line.size() + 1 + item.size() > kColumns) {
      text += line + "\n";
      line = std::string(indent, ' ');
    }
    line += (line.size() > indent ? " " : "") + item;
  }
  return text + line + "\n";
}

class Writer {
public:
  explicit Writer(const CallModel &model) : model(model), sections(groupSections(model)) {}

  std::string header() const;
  std::string source() const;
  std::string calls() const;

private:
  std::string banner(const char *what) const;
  std::string slots(const SectionKind &kind) const;
  std::string function(const SectionKind &kind) const;
  std::string entries() const;
  std::string entryBody(const std::vector<SectionRun> &runs) const;
  std::string descriptor() const;
  std::string input(const char *what) const;
  std::string argument(const SectionKind &kind, size_t call, size_t index) const;
  const HostOp *hostOp(const char *family) const;

  const CallModel &model;
  Sections sections;
};

std::string Writer::banner(const char *what) const {
  std::string text = fmt::format("// {}: {}.\n//\n", comment(model.name), what);
  text += fmt::format("// Emitted by Writ from the circuit '{}' under the profile '{}' for {}.\n",
                      comment(model.circuit), comment(model.profile), comment(model.target));
  text += "// Do not edit: a changed model is a new compilation.\n//\n";
  size_t width = std::string_view("resolution").size();
  for (const auto &[name, digest] : model.inputs)
    width = std::max(width, name.size());
  for (const auto &[name, digest] : model.inputs)
    text += fmt::format("//   {:<{}}  {}\n", comment(name), width, comment(digest));
  return text + fmt::format("//   {:<{}}  {}\n", "resolution", width, model.resolutionSha256);
}

std::string Writer::header() const {
  std::string text = banner("its sizes, as constants");
  text += R"(#pragma once

#include "writ/model_abi.h"

namespace model {

)";
  auto constant = [&](const char *name, int64_t value, const char *meaning) {
    text += fmt::format("inline constexpr int64_t {} = {}; ///< {}\n", name, value, meaning);
  };
  constant("kVocabulary", model.vocabulary, "token ids");
  constant("kContextLength", model.contextLength, "positions that the model was made for");
  constant("kRowArenaBytes", model.rowArenaBytes, "for each row of a step");
  constant("kOutputArenaBytes", model.outputArenaBytes, "for each output row of a step");
  constant("kLogitsOffset", model.logitsOffset, "bytes per output row, in the output arena");
  constant("kWeightsBytes", model.weightsBytes, "of the packed weights' data");
  constant("kKvBytesPerToken", model.kvBytesPerToken, "in all layers");
  text += fmt::format("\ninline constexpr uint32_t kPrefillCalls = {};\n", model.prefill.size());
  text += fmt::format("inline constexpr uint32_t kDecodeCalls = {};\n", model.decode.size());
  text += fmt::format("inline constexpr uint32_t kKvGroupCount = {};\n", model.kvGroups.size());
  return text + R"(
/// What each call computes; those of prefill first.
extern const writ_call_info kCalls[kPrefillCalls + kDecodeCalls];

} // namespace model
)";
}

std::string Writer::calls() const {
  std::string text = banner("what each call computes, and by which contract and provider");
  text += "#include \"model.h\"\n\nnamespace model {\n\n"
          "const writ_call_info kCalls[kPrefillCalls + kDecodeCalls] = {\n";
  auto entry = [&](const char *phase, const std::vector<Call> &calls) {
    text += fmt::format("    // {}: op, family, contract, provider\n", phase);
    for (const Call &call : calls)
      text += fmt::format("    {{{}, {}, {}, {}}},\n", literal(call.op), literal(call.family),
                          literal(call.contract), literal(call.provider));
  };
  entry("prefill", model.prefill);
  entry("decode", model.decode);
  return text + "};\n\n} // namespace model\n";
}

std::string Writer::slots(const SectionKind &kind) const {
  if (kind.fields.empty())
    return {};
  std::string name = camelCase(kind.name);
  std::string text =
      fmt::format("/// Where the {} functions find what is their own: bytes in the packed weights, "
                  "bytes per row in\n/// an arena, layers of a KV group.\nstruct {}Places {{\n",
                  comment(kind.section), name);
  for (const SectionField &field : kind.fields)
    text += fmt::format("  int64_t {};\n", field.name);
  text += fmt::format("}};\nconstexpr {}Places k{}Places[] = {{\n", name, name);
  for (const SectionRow &row : kind.rows) {
    std::vector<std::string> items;
    for (const SectionField &field : kind.fields) {
      const CallValue &value = row.calls[field.call].arguments[field.argument].value;
      int64_t place = 0;
      if (auto buffer = std::get_if<CallBuffer>(&value))
        place = buffer->offset;
      else if (auto weight = std::get_if<CallWeight>(&value))
        place = weight->offset;
      else
        place = std::get<CallKvLayer>(value).index;
      items.push_back(fmt::format(".{} = {}", field.name, place));
    }
    text += fmt::format("    {{\n        // layer {}\n", row.layer) + wrap(items, 8) + "    },\n";
  }
  return text + "};\n\n";
}

std::string Writer::argument(const SectionKind &kind, size_t call, size_t index) const {
  const CallValue &value = kind.rows[0].calls[call].arguments[index].value;
  std::string place;
  for (const SectionField &field : kind.fields)
    if (field.call == call && field.argument == index)
      place = "at." + field.name;
  auto at = [&](int64_t constant) { return place.empty() ? std::to_string(constant) : place; };
  if (auto buffer = std::get_if<CallBuffer>(&value))
    return fmt::format("{}(step, {})", buffer->arena == "rows" ? "row_buffer" : "output_buffer",
                       at(buffer->offset));
  if (auto weight = std::get_if<CallWeight>(&value))
    return fmt::format("weight(step, {})", at(weight->offset));
  if (auto rows = std::get_if<CallRows>(&value))
    return "step->rows->" + rows->field;
  if (auto kv = std::get_if<CallKv>(&value))
    return fmt::format("&step->kv[{}]", kv->group);
  if (auto layer = std::get_if<CallKvLayer>(&value))
    return at(layer->index);
  if (auto integer = std::get_if<int64_t>(&value))
    return fmt::format("{}", *integer);
  if (auto number = std::get_if<float>(&value))
    return fmt::format("{:a}f", *number);
  return "nullptr";
}

std::string Writer::function(const SectionKind &kind) const {
  std::string places = camelCase(kind.name) + "Places";
  std::string text = fmt::format(
      "/// {}, {} call{} from number `call` on.\nvoid run_{}(const writ_step *step, uint32_t "
      "call{}) "
      "{{\n",
      kind.rows[0].layer < 0 ? "The " + comment(kind.section)
                             : fmt::format("One {} of {}", comment(kind.section), kind.rows.size()),
      kind.callCount, kind.callCount == 1 ? "" : "s", kind.name,
      kind.fields.empty() ? "" : fmt::format(", const {} &at", places));
  for (size_t i = 0; i < kind.callCount; ++i) {
    const Call &call = kind.rows[0].calls[i];
    text += fmt::format("  // {}: {}\n  {}(step, call + {}, {{\n", localName(call.op),
                        comment(call.family), symbol(call.symbol), i);
    for (size_t a = 0; a < call.arguments.size(); ++a) {
      std::string line =
          fmt::format("      .{} = {},", symbol(call.arguments[a].name), argument(kind, i, a));
      auto weight = std::get_if<CallWeight>(&call.arguments[a].value);
      if (weight && line.find("at.") == std::string::npos)
        line += " // " + comment(weight->name);
      text += line + "\n";
    }
    text += "  });\n";
  }
  return text + "}\n\n";
}

std::string Writer::entryBody(const std::vector<SectionRun> &runs) const {
  std::string text;
  size_t call = 0;
  for (const SectionRun &run : runs) {
    const SectionKind &kind = sections.kinds[run.kind];
    std::string table = "k" + camelCase(kind.name) + "Places";
    auto places = [&](const std::string &row) {
      return kind.fields.empty() ? "" : fmt::format(", {}[{}]", table, row);
    };
    if (run.count == 1)
      text += fmt::format("  run_{}(step, call + {}{});\n", kind.name, call,
                          places(std::to_string(run.row)));
    else
      text += fmt::format("  for (uint32_t i = 0; i < {}; ++i)\n"
                          "    run_{}(step, call + {} + i * {}{});\n",
                          run.count, kind.name, call, kind.callCount,
                          places(run.row == 0 ? "i" : fmt::format("{} + i", run.row)));
    call += run.count * kind.callCount;
  }
  return text;
}

std::string Writer::entries() const {
  std::string prefill = entryBody(sections.prefill), decode = entryBody(sections.decode);
  if (prefill == decode)
    return "/// Both phases make the same calls.\n"
           "void run_step(const writ_step *step, uint32_t call) {\n" +
           prefill +
           "}\n\nvoid prefill(const writ_step *step) { run_step(step, 0); }\n"
           "void decode(const writ_step *step) { run_step(step, model::kPrefillCalls); }\n\n";
  return "void prefill(const writ_step *step) {\n  const uint32_t call = 0;\n" + prefill +
         "}\n\nvoid decode(const writ_step *step) {\n"
         "  const uint32_t call = model::kPrefillCalls;\n" +
         decode + "}\n\n";
}

const HostOp *Writer::hostOp(const char *family) const {
  const HostOp *found = nullptr;
  for (const HostOp &op : model.hostOps)
    if (op.family == family) {
      if (found)
        throw Error({}, "E204",
                    fmt::format("the module has two host ops of family '{}'; a model has at most "
                                "one",
                                family));
      found = &op;
    }
  return found;
}

/// The digest of an input, empty where the module names none.
std::string Writer::input(const char *what) const {
  auto found = model.inputs.find(what);
  return found == model.inputs.end() ? "" : found->second;
}

std::string Writer::descriptor() const {
  std::string text;
  if (!model.kvGroups.empty()) {
    text += "constexpr writ_kv_group kKvGroups[model::kKvGroupCount] = {\n";
    for (const CallKvGroup &group : model.kvGroups)
      text += "    {\n" +
              wrap({fmt::format(".storage = {}", literal(group.storage)),
                    fmt::format(".layers = {}", group.layers),
                    fmt::format(".kv_heads = {}", group.kvHeads),
                    fmt::format(".head_dim = {}", group.headDim),
                    fmt::format(".row_bytes = {}", group.rowBytes),
                    fmt::format(".window = {}", group.window)},
                   8) +
              "    },\n";
    text += "};\n\n";
  }
  auto provider = [&](const char *family) {
    const HostOp *op = hostOp(family);
    return op ? fmt::format("&{}_provider", symbol(op->provider)) : "nullptr";
  };
  text += "const writ_model_desc kModel = {\n    .abi = WRIT_MODEL_ABI,\n";
  auto field = [&](const char *name, const std::string &value) {
    text += fmt::format("    .{} = {},\n", name, value);
  };
  field("production", model.production ? "1" : "0");
  field("name", literal(model.name));
  field("circuit", literal(model.circuit));
  field("profile", literal(model.profile));
  field("resolution_sha256", literal(model.resolutionSha256));
  field("call_sha256", literal(model.callSha256));
  field("model_sha256", literal(input("model")));
  field("circuit_sha256", literal(input("circuit")));
  field("profile_sha256", literal(input("profile")));
  field("vocabulary", "model::kVocabulary");
  field("context_length", "model::kContextLength");
  field("row_arena_bytes", "model::kRowArenaBytes");
  field("output_arena_bytes", "model::kOutputArenaBytes");
  field("logits_offset", "model::kLogitsOffset");
  field("weights_bytes", "model::kWeightsBytes");
  field("kv_group_count", "model::kKvGroupCount");
  field("kv_groups", model.kvGroups.empty() ? "nullptr" : "kKvGroups");
  field("call_count", "model::kPrefillCalls + model::kDecodeCalls");
  field("calls", "model::kCalls");
  field("phases_alike", model.phasesAlike ? "1" : "0");
  field("prefill", "prefill");
  field("decode", "decode");
  field("sample", provider("sample"));
  field("log_probability", provider("log_probability"));
  return text + "};\n\n} // namespace\n\n"
                "extern \"C\" const writ_model_desc *writ_model(void) { return &kModel; }\n";
}

std::string Writer::source() const {
  std::string text = banner("one function for each kind of layer, one entry for each phase");
  text += "#include \"model.h\"\n\n";
  std::set<std::string> providers;
  for (const std::vector<Call> *calls : {&model.prefill, &model.decode})
    for (const Call &call : *calls)
      providers.insert(symbol(call.provider));
  for (const char *family : {"sample", "log_probability"})
    if (const HostOp *op = hostOp(family))
      providers.insert(symbol(op->provider));
  for (const std::string &provider : providers)
    text += fmt::format("#include \"writ/kernels/{}.h\"\n", provider);
  text += "\nnamespace {\n\n";
  std::string body;
  for (const SectionKind &kind : sections.kinds)
    body += slots(kind) + function(kind);
  // Only what is used: the code compiles without warnings.
  if (body.find(" weight(step") != std::string::npos)
    text += R"(/// A weight at a byte offset in the packed weights.
const void *weight(const writ_step *step, int64_t offset) {
  return static_cast<const char *>(step->weights) + offset;
}

)";
  if (body.find(" row_buffer(step") != std::string::npos)
    text += R"(/// A buffer with a row for each row of the step.
void *row_buffer(const writ_step *step, int64_t offset) {
  return static_cast<char *>(step->row_arena) + offset * step->max_rows;
}

)";
  if (body.find(" output_buffer(step") != std::string::npos)
    text += R"(/// A buffer with a row for each output row of the step.
void *output_buffer(const writ_step *step, int64_t offset) {
  return static_cast<char *>(step->output_arena) + offset * step->max_outputs;
}

)";
  return text + body + entries() + descriptor();
}

} // namespace

std::vector<EmittedFile> emitCpp(const CallModel &model) {
  Writer writer(model);
  return {{"CMakeLists.txt", emitBuild(model)},
          {"src/calls.cpp", writer.calls()},
          {"src/model.cpp", writer.source()},
          {"src/model.h", writer.header()}};
}

} // namespace writ
