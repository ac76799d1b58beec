//===- KernelCall.cpp - a problem as one kernel sees it -------------------===//
#include "tests/conformance/KernelCall.h"

#include "compiler/Emit/PackWeights.h"
#include "ir/Reference/Storage.h"
#include "tests/conformance/Compare.h"
#include "tests/conformance/Match.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace writ::test {
namespace {

constexpr int64_t kPageTokens = 16, kLayers = 3, kLayer = 1;
// What is read by mistake is a NaN of every storage; what is to be written is none, so that a NaN
// of the reference is not taken for it.
constexpr std::byte kUnseen{0xff};
constexpr int32_t kNoPage = 1 << 28; // far outside of the planes: reading it ends the test

/// The first difference of two tensors of one storage, in words; padding of activation rows is
/// nobody's.
std::string describeDifference(const std::string &name, const std::string &storage, int64_t width,
                               std::span<const std::byte> expected,
                               std::span<const std::byte> found) {
  const Comparison comparison = compare(storage, width, expected, found);
  if (comparison.differences == 0)
    return "";
  char text[200];
  std::snprintf(text, sizeof(text), "%s%s%s[%lld][%lld] is %s 0x%llx, the reference has 0x%llx",
                name.c_str(), comparison.part.empty() ? "" : " ", comparison.part.c_str(),
                static_cast<long long>(comparison.row), static_cast<long long>(comparison.column),
                storage.c_str(), static_cast<unsigned long long>(comparison.got),
                static_cast<unsigned long long>(comparison.expected));
  return text;
}

} // namespace

KernelCall::KernelCall(Problem &problem, const nlohmann::json &map, uint64_t seed)
    : problem(problem) {
  makeOperands(map);
  if (problem.call.kv)
    makePages(seed);
  makeSampleParameters();
  makeSlots(map);
}

void KernelCall::makeOperands(const nlohmann::json &map) {
  for (const auto &[name, operand] : problem.call.operands) {
    const std::string layout = map["operands"][name].value("layout", "plain");
    if (layout == "plain") {
      Buffer &copy = operands[name] = Buffer(operand.bytes.size());
      std::copy(operand.bytes.begin(), operand.bytes.end(), copy.base());
      continue;
    }
    const int64_t k = operand.shape.back(), n = operand.shape.size() > 1 ? operand.shape[0] : 1;
    const int64_t bytes = packedBytes(layout, operand.storage, n, k);
    if (bytes < 0)
      throw std::runtime_error("layout '" + layout + "' does not take '" + operand.storage + "'");
    Buffer &packed = operands[name] = Buffer(static_cast<size_t>(bytes));
    packed.poison(); // the padding is written, too
    if (!packWeight(layout, operand.storage, n, k, operand.bytes.data(), packed.base()))
      throw std::runtime_error("weight '" + name + "' cannot be packed");
  }
}

/// Three layers of which the middle one is used; pages in no order, and more of them than are
/// needed: what belongs to no position of the layer is NaN, as in pages that were used before.
void KernelCall::makePages(uint64_t seed) {
  const reference::KvState &kv = problem.kv;
  const reference::Rows &rows = problem.call.rows;
  const int64_t last = *std::max_element(rows.position.begin(), rows.position.end());
  const int64_t sequences = 1 + *std::max_element(rows.sequence.begin(), rows.sequence.end());
  view.block_size = kPageTokens;
  view.table_stride = last / kPageTokens + 3;
  view.physical_blocks = sequences * view.table_stride + 5;
  view.token_stride = kv.kvHeads * reference::rowBytes(kv.storage, kv.headDim);
  view.page_stride = kPageTokens * view.token_stride;
  view.layer_stride = view.physical_blocks * view.page_stride;
  const auto planeBytes = static_cast<size_t>(kLayers * view.layer_stride);
  planes = Buffer(2 * planeBytes);
  view.k_plane = planes.base();
  view.v_plane = planes.base() + planeBytes;

  std::vector<int32_t> pages(static_cast<size_t>(view.physical_blocks));
  for (size_t i = 0; i < pages.size(); ++i)
    pages[i] = static_cast<int32_t>(i);
  Random random(seed);
  for (size_t i = pages.size() - 1; i > 0; --i)
    std::swap(pages[i], pages[static_cast<size_t>(random.below(static_cast<int64_t>(i + 1)))]);
  pages.resize(static_cast<size_t>(sequences * view.table_stride));
  blockTable = pages;
  view.block_table = blockTable.data();
  if (problem.family() != "attention")
    return;
  for (int64_t entry = 0; entry < static_cast<int64_t>(blockTable.size()); ++entry) {
    const int64_t first = entry % view.table_stride * kPageTokens;
    bool seen = false;
    for (int64_t p = first; p < first + kPageTokens; ++p)
      seen = seen || isSeen(entry / view.table_stride, p);
    if (!seen)
      blockTable[static_cast<size_t>(entry)] = kNoPage;
  }
}

/// Whether any row may see a position; what none may see is never read.
bool KernelCall::isSeen(int64_t sequence, int64_t position) const {
  const reference::Rows &rows = problem.call.rows;
  const int64_t window = problem.kv.window > 0 ? problem.kv.window : INT64_MAX;
  for (size_t row = 0; row < rows.position.size(); ++row)
    if (rows.sequence[row] == sequence && position <= rows.position[row] &&
        rows.position[row] - position < window)
      return true;
  return false;
}

std::byte *KernelCall::pageAddress(bool isK, int64_t sequence, int64_t position) {
  const int32_t page =
      blockTable[static_cast<size_t>(sequence * view.table_stride + position / kPageTokens)];
  return static_cast<std::byte *>(isK ? view.k_plane : view.v_plane) + kLayer * view.layer_stride +
         page * view.page_stride + position % kPageTokens * view.token_stride;
}

void KernelCall::copyToPages() {
  const bool isWritten = problem.family() == "kv_store"; // the kernel is the one who writes
  std::fill_n(planes.base(), planes.bytes().size(), isWritten ? kPoison : kUnseen);
  if (isWritten)
    return;
  for (size_t sequence = 0; sequence < problem.kv.sequences.size(); ++sequence)
    for (const bool isK : {true, false}) {
      const auto &plane = isK ? problem.kv.sequences[sequence].k : problem.kv.sequences[sequence].v;
      for (int64_t p = 0; p * view.token_stride < static_cast<int64_t>(plane.size()); ++p)
        if (isSeen(static_cast<int64_t>(sequence), p))
          std::copy_n(plane.data() + p * view.token_stride, view.token_stride,
                      pageAddress(isK, static_cast<int64_t>(sequence), p));
    }
}

void KernelCall::makeSampleParameters() {
  for (const reference::SampleRequest &request : problem.call.samples)
    parameters.push_back({request.temperature, request.topP, request.minP, request.repeatPenalty,
                          request.topK, request.seed, request.stream, request.position,
                          request.recent.data(), static_cast<int64_t>(request.recent.size())});
  if (!parameters.empty())
    scratch = Buffer(static_cast<size_t>(problem.call.dimensions.at("rows") *
                                         problem.call.dimensions.at("vocabulary") * 16));
}

uint64_t KernelCall::slotOf(const nlohmann::json &argument) {
  const std::string bind = argument["bind"], type = argument["type"];
  const std::string kind = bind.substr(0, bind.find_first_of(":."));
  const std::string name = bind.substr(kind.size() + 1);
  const reference::Call &call = problem.call;
  auto pointer = [](const void *p) { return reinterpret_cast<uint64_t>(p); };
  if (kind == "operand" || (kind == "host" && operands.contains(name)))
    return operands.contains(name) ? pointer(operands.at(name).base()) : 0;
  if (kind == "dim" || (kind == "host" && call.dimensions.contains(name)))
    return static_cast<uint64_t>(call.dimensions.at(name));
  if (kind == "attr" && type == "f32")
    return std::bit_cast<uint32_t>(static_cast<float>(call.numbers.at(name)));
  if (bind == "rows.token" || bind == "host:token")
    return pointer(call.rows.token.data());
  if (bind == "rows.position")
    return pointer(call.rows.position.data());
  if (bind == "rows.sequence")
    return pointer(call.rows.sequence.data());
  if (bind == "rows.output_row")
    return pointer(call.rows.outputRow.data());
  if (bind == "kv.view")
    return pointer(&view);
  if (bind == "kv.layer")
    return kLayer;
  if (bind == "kv.window")
    return static_cast<uint64_t>(problem.kv.window);
  if (bind == "host:parameters")
    return pointer(parameters.data());
  if (bind == "host:scratch")
    return pointer(scratch.base());
  throw std::runtime_error("the tests know no binding '" + bind + "' of type '" + type + "'");
}

void KernelCall::makeSlots(const nlohmann::json &map) {
  std::map<std::string, int64_t> integers;
  for (const nlohmann::json &argument : map["arguments"]) {
    slots.push_back(slotOf(argument));
    if (argument["type"] == "i64")
      integers[argument["name"]] = static_cast<int64_t>(slots.back());
  }
  int64_t extent = 1;
  for (const std::string name : map["threading"]["extent"])
    extent *= integers.at(name);
  const int64_t grain = map["threading"]["grain"];
  unitCount = (extent + grain - 1) / grain;
}

void KernelCall::poison() {
  for (const std::string &output : problem.outputs())
    operands.at(output).poison();
  if (problem.call.kv)
    copyToPages();
}

void KernelCall::divide(int64_t parts, int64_t bytes) {
  partials = Buffer(static_cast<size_t>(bytes));
  partials.poison();
  view.parts = parts;
  view.partials = reinterpret_cast<float *>(partials.base());
  view.partial_bytes = bytes;
}

void KernelCall::run(writ_body body, const std::vector<std::pair<int64_t, int64_t>> &ranges) const {
  for (const auto &[begin, end] : ranges)
    body(slots.data(), begin, end);
}

/// Every byte of both planes: what the reference stored, and nothing else touched.
std::string KernelCall::kvDifference() const {
  KernelCall &self = const_cast<KernelCall &>(*this);
  std::vector<std::byte> expected(planes.bytes().size(), kPoison);
  const reference::Rows &rows = problem.call.rows;
  for (size_t row = 0; row < rows.position.size(); ++row)
    for (const bool isK : {true, false}) {
      const auto &sequence = problem.kv.sequences[static_cast<size_t>(rows.sequence[row])];
      const std::byte *page = self.pageAddress(isK, rows.sequence[row], rows.position[row]);
      std::copy_n((isK ? sequence.k : sequence.v).data() + rows.position[row] * view.token_stride,
                  view.token_stride, expected.data() + (page - planes.bytes().data()));
    }
  return describeDifference("kv", problem.kv.storage, problem.kv.kvHeads * problem.kv.headDim,
                            expected, planes.bytes());
}

int64_t KernelCall::elements() const {
  int64_t count = 0;
  for (const std::string &output : problem.outputs()) {
    const reference::Operand &operand = problem.call.operands.at(output);
    const int64_t columns = operand.shape.back();
    count += static_cast<int64_t>(operand.bytes.size()) /
             reference::rowBytes(operand.storage, columns) * columns;
  }
  if (problem.family() == "kv_store") // K and V of each row
    count += static_cast<int64_t>(2 * problem.call.rows.position.size()) * problem.kv.kvHeads *
             problem.kv.headDim;
  return count;
}

std::string KernelCall::difference() const {
  for (const auto &[name, buffer] : operands)
    if (!buffer.guardIsIntact())
      return "operand '" + name + "' was written beyond its end";
  if (!planes.guardIsIntact() || !scratch.guardIsIntact())
    return "the KV planes or the scratch were written beyond their end";
  for (const std::string &output : problem.outputs()) {
    const reference::Operand &expected = problem.call.operands.at(output);
    const std::string found = describeDifference(output, expected.storage, expected.shape.back(),
                                                 expected.bytes, operands.at(output).bytes());
    if (found.empty())
      continue;
    const std::string mismatch =
        describeMismatch(problem.call, Data::get().contracts, output, this->output(output));
    return found + (mismatch.empty() ? "" : "; " + mismatch);
  }
  return problem.family() == "kv_store" ? kvDifference() : "";
}

} // namespace writ::test
