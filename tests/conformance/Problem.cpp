//===- Problem.cpp - one op with its contract, inputs and outputs ---------===//
#include "tests/conformance/Problem.h"

#include "ir/Reference/Storage.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace writ::test {
namespace {

constexpr int32_t kSequences = 3;
constexpr int64_t kUnselectedRows = 3; ///< rows of select_rows' input that are not taken

int64_t rowsOf(const std::vector<int64_t> &shape) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    rows *= shape[i];
  return rows;
}

void makeRows(Problem &problem, const ProblemOptions &options, Random &random) {
  constexpr int32_t somePositions[] = {0, 1, 31, 32, 33, 600, 4095, 1 << 20};
  reference::Rows &rows = problem.call.rows;
  if (!problem.call.dimensions.contains("rows")) // what is computed when compiling
    return;
  const int64_t count = problem.call.dimensions.at("rows");
  for (int64_t row = 0; row < count; ++row) {
    const int64_t vocabulary = problem.call.dimensions.contains("vocabulary")
                                   ? problem.call.dimensions.at("vocabulary")
                                   : 1;
    rows.token.push_back(static_cast<int32_t>(random.below(vocabulary)));
    rows.position.push_back(options.positions.empty()
                                ? somePositions[random.below(8)]
                                : options.positions[row % options.positions.size()]);
    rows.sequence.push_back(static_cast<int32_t>(row % kSequences));
    rows.outputRow.push_back(static_cast<int32_t>(row + (row > count / 2 ? kUnselectedRows : 1)));
  }
}

/// An operand as its op has it: that of a fusion belongs to one of the parts, with its names.
struct Place {
  std::string family, operand;
  Dimensions dimensions;
};
Place placeOf(const std::string &family, const std::string &operand, const Dimensions &dimensions) {
  const nlohmann::json &families = Data::get().vocabulary["families"];
  if (!families[family].contains("parts"))
    return {family, operand, dimensions};
  for (const nlohmann::json &part : families[family]["parts"]) {
    const nlohmann::json &as = part["as"];
    const nlohmann::json &rules = families[part["family"].get<std::string>()];
    for (const auto &[name, kind] : rules["operands"].items())
      if (as.value(name, name) == operand) {
        Place place{part["family"], name, {}};
        for (const std::string dimension : rules["dimensions"])
          place.dimensions[dimension] = dimensions.at(as.value(dimension, dimension));
        return place;
      }
  }
  throw std::runtime_error("no part of '" + family + "' has an operand '" + operand + "'");
}

/// What each operand is in the sums of its op, and how many elements one of them takes.
Filling fillingOf(const Problem &problem, const std::string &operandName,
                  const std::vector<int64_t> &shape, Fill fill) {
  const auto [family, operand, dimensions] =
      placeOf(problem.family(), operandName, problem.call.dimensions);
  const nlohmann::json &operands = problem.contract["operands"];
  Filling filling{fill, Part::term, shape.back(), 1, 0};
  const bool isNorm = family.ends_with("_norm");
  if (operand == "bias" || operand == "sinks")
    filling.part = Part::addend;
  else if ((operand == "weight" && (isNorm || family == "linear")) || operand == "up")
    filling.part = Part::factor;
  if (isNorm)
    filling.run = dimensions.at("n");
  else if (operand == "q" || operand == "k" || operand == "v" ||
           (family == "rope" && operand == "input"))
    filling.run = dimensions.at("head_dim");
  if (const int64_t block = sharedScale(problem.contract); block > 0 && !isNorm)
    filling.run = block;
  if (family == "linear" && operands["out"]["storage"] == "f16")
    filling.exponent = -7; // the sums stay in its range
  if (family == "linear" && operand != "bias")
    if (const std::string weight = operands["weight"]["storage"]; weight.starts_with("q"))
      filling.unit = reference::blockElements(weight);
  return filling;
}

/// No activation leaves anything of a large negative value: what dominates a gate is positive.
void keepDominance(Problem &problem) {
  const reference::Operand &gate = problem.call.operands.at("gate");
  const int64_t size = reference::rowBytes(gate.storage, 1);
  for (int64_t i = 0; i < static_cast<int64_t>(gate.bytes.size()) / size; ++i)
    reference::writeScalar(gate.storage, gate.bytes.data(), i,
                           std::fabs(problem.element("gate", i)));
}

/// The angles of real positions, so that c^2 + s^2 = 1; special values among them by `fill`.
void fillTable(Problem &problem, Fill fill, Random &random) {
  std::span<float> table = problem.floats("table");
  const int64_t dims = problem.call.dimensions.at("rope_dims"), pairs = dims / 2;
  if (fill == Fill::special)
    return; // as every other operand
  for (size_t row = 0; row < table.size() / dims; ++row)
    for (int64_t i = 0; i < pairs; ++i) {
      const double angle = random.uniform(-100, 100);
      table[row * dims + i] = static_cast<float>(std::cos(angle));
      table[row * dims + pairs + i] = static_cast<float>(std::sin(angle));
    }
}

/// Pairs that the rotation turns on to an axis: the one result is what is left of two terms.
void turnToAnAxis(Problem &problem, Random &random) {
  const auto d = [&](const char *name) { return problem.call.dimensions.at(name); };
  const reference::Operand &input = problem.call.operands.at("input");
  const std::span<const float> table = problem.floats("table");
  const int64_t dims = d("rope_dims"), pairs = dims / 2, dim = d("head_dim");
  const bool interleaved = problem.contract["pairing"] == "interleaved";
  for (int64_t head = 0; head < d("rows") * d("heads"); ++head)
    for (int64_t i = 0; i < pairs; ++i) {
      const int64_t row = head / d("heads"), first = head * dim + (interleaved ? 2 * i : i);
      const float c = table[row * dims + i], s = table[row * dims + pairs + i];
      const auto radius = static_cast<float>(random.uniform(-64, 64));
      const bool isFirst = random.below(2) == 0; // (s, c) has x0 c - x1 s = 0, (c, -s) the other
      reference::writeScalar(input.storage, input.bytes.data(), first, radius * (isFirst ? s : c));
      reference::writeScalar(input.storage, input.bytes.data(), first + (interleaved ? 1 : pairs),
                             radius * (isFirst ? c : -s));
    }
}

/// The second summand as what is nearly the negative of the first.
void mirrorSummand(Problem &problem, Fill fill, Random &random) {
  const reference::Operand &a = problem.call.operands.at("a"), &b = problem.call.operands.at("b");
  const int64_t size = reference::rowBytes(a.storage, 1);
  for (size_t at = 0; at < a.bytes.size(); at += static_cast<size_t>(size)) {
    std::copy_n(a.bytes.data() + at, size, b.bytes.data() + at);
    b.bytes[at + static_cast<size_t>(size) - 1] ^= std::byte{0x80}; // the sign
    if (fill == Fill::cancelling)
      b.bytes[at] ^= static_cast<std::byte>(random.below(2)); // the last place
  }
  if (fill == Fill::alternating) // near the same magnitude, no more
    for (int64_t i = 0; i < static_cast<int64_t>(b.bytes.size()) / size; ++i)
      reference::writeScalar(b.storage, b.bytes.data(), i,
                             problem.element("b", i) *
                                 static_cast<float>(1 + random.uniform(-1, 1) * 0x1p-6));
}

void makeKv(Problem &problem, const ProblemOptions &options, Random &random) {
  reference::KvState &kv = problem.kv;
  kv.storage = problem.contract["operands"]["kv"]["storage"];
  kv.kvHeads = problem.call.dimensions.at("kv_heads");
  kv.headDim = problem.call.dimensions.at("head_dim");
  if (isWindowed(problem.contract))
    kv.window = options.window;
  problem.call.kv = &kv;
  if (problem.family() != "attention")
    return;
  kv.sequences.resize(kSequences);
  const reference::Rows &rows = problem.call.rows;
  for (size_t row = 0; row < rows.position.size(); ++row) {
    auto &sequence = kv.sequences[rows.sequence[row]];
    const size_t bytes = static_cast<size_t>((rows.position[row] + 1) * kv.kvHeads *
                                             reference::rowBytes(kv.storage, kv.headDim));
    for (auto *plane : {&sequence.k, &sequence.v})
      plane->resize(std::max(plane->size(), bytes));
  }
  for (auto &sequence : kv.sequences) { // the values of a key are one run: keys are what is summed
    fillPlane(sequence.k, kv.storage, {options.fill, Part::factor, kv.headDim, 1, 0}, random);
    fillPlane(sequence.v, kv.storage, {options.fill, Part::across, kv.kvHeads * kv.headDim, 1, 0},
              random);
  }
}

void makeSamples(Problem &problem, Random &random) {
  const int64_t vocabulary = problem.call.dimensions.at("vocabulary");
  for (int64_t row = 0; row < problem.call.dimensions.at("rows"); ++row) {
    reference::SampleRequest request;
    constexpr float temperatures[] = {0.0f, 0.7f, 1.0f, 1.7f};
    request.temperature = temperatures[random.below(4)];
    request.topP = random.below(2) ? 1.0f : static_cast<float>(random.uniform(0.1, 1));
    request.minP = random.below(2) ? 0.0f : static_cast<float>(random.uniform(0, 0.3));
    request.repeatPenalty = random.below(2) ? 1.0f : 1.3f;
    request.topK = random.below(2) ? 0 : 1 + random.below(vocabulary + 2);
    request.seed = random.bits();
    request.stream = random.bits();
    request.position = random.bits();
    for (int64_t i = random.below(65); i > 0; --i)
      request.recent.push_back(static_cast<int32_t>(random.below(vocabulary)));
    problem.call.samples.push_back(std::move(request));
  }
}

/// Whether a word of the contract takes an optional number of its family.
bool takesNumber(const Problem &problem, const std::string &name) {
  for (const auto &[field, list] :
       problem.vocabulary["contract_fields"][problem.family()].items()) {
    const nlohmann::json value = problem.contract.value(field, nlohmann::json());
    if (!value.is_string() || !problem.vocabulary["words"].contains(list))
      continue;
    for (const auto &taken :
         problem.vocabulary["words"][list][value].value("numbers", nlohmann::json::array()))
      if (taken == name)
        return true;
  }
  return false;
}

void makeNumbers(Problem &problem, Fill fill) {
  reference::Call &call = problem.call;
  for (std::string name : problem.vocabulary["families"][problem.family()]["numbers"]) {
    if (const std::string optional = "optional "; name.starts_with(optional)) {
      name.erase(0, optional.size());
      if (!takesNumber(problem, name))
        continue;
    }
    if (name == "epsilon")
      call.numbers[name] = 1e-5f;
    else if (name == "base")
      call.numbers[name] = 10000;
    else if (name == "factor")
      call.numbers[name] = 8;
    else if (name == "original_context")
      call.numbers[name] = 4096;
    else if (name == "beta_fast")
      call.numbers[name] = 32;
    else if (name == "beta_slow")
      call.numbers[name] = 1;
    else if (name == "cap")
      call.numbers[name] = 30;
    else if (name == "scale") // of values over many powers of two, scores a softmax can tell apart
      call.numbers[name] = static_cast<float>(
          std::ldexp(1 / std::sqrt(static_cast<double>(call.dimensions.at("head_dim"))),
                     fill == Fill::spread ? -28 : 0));
    else if (name == "soft_cap") // small enough that scores reach it
      call.numbers[name] = 3;
    else
      throw std::runtime_error("the tests know no number '" + name + "'");
  }
}

/// The value of an attribute that a contract states; of a fusion, one of its parts does.
std::string attributeOf(const nlohmann::json &contract, const nlohmann::json &rules,
                        const std::string &attribute) {
  if (!contract.contains("parts"))
    return contract[attribute];
  for (size_t i = 0; i < contract["parts"].size(); ++i)
    for (const auto &[field, value] : contract["parts"][i].items())
      if (rules["parts"][i]["as"].value(field, field) == attribute)
        return value;
  throw std::runtime_error("no part states '" + attribute + "'");
}

} // namespace

bool isWindowed(const nlohmann::json &contract) {
  const nlohmann::json &masks = Data::get().vocabulary["words"]["mask"];
  return contract.contains("mask") && masks[contract["mask"]].value("windowed", false);
}

int64_t sharedScale(const nlohmann::json &contract) {
  if (contract.contains("parts"))
    return sharedScale(contract["parts"].back());
  const std::string family = contract["family"];
  return family == "quantize_activation" || family == "kv_store" ? contract.value("block", 0) : 0;
}

std::vector<int64_t> shapeOf(const std::string &familyName, const std::string &operandName,
                             const Dimensions &given) {
  const auto [family, operand, dimensions] = placeOf(familyName, operandName, given);
  auto d = [&sizes = dimensions](const char *name) { return sizes.at(name); };
  const std::string key = family + "." + operand;
  if (key == "embedding.weight")
    return {d("vocabulary"), d("n")};
  if (key == "linear.weight")
    return {d("n"), d("k")};
  if (key == "attention.sinks")
    return {d("heads")};
  const bool isNorm = family.ends_with("_norm");
  if (key == "linear.bias" || (isNorm && (operand == "weight" || operand == "bias")))
    return {d("n")};
  if (isNorm)
    return {d("rows"), d("vectors") * d("n")};
  if (key == "linear.activation" || family == "quantize_activation")
    return {d("rows"), d("k")};
  if (key == "rope_table.frequencies" || family == "rope_frequencies")
    return {d("rope_dims") / 2};
  if (key == "rope_table.out" || key == "rope.table")
    return {d("rows"), d("rope_dims")};
  if (family == "rope" || family == "attention")
    return {d("rows"), d("heads") * d("head_dim")};
  if (family == "kv_store")
    return {d("rows"), d("kv_heads") * d("head_dim")};
  if (key == "select_rows.input")
    return {d("rows") + kUnselectedRows, d("n")};
  if (key == "sample.token" || key == "log_probability.out")
    return {d("rows"), 1};
  if (operand == "logits")
    return {d("rows"), d("vocabulary")};
  return {d("rows"), d("n")};
}

std::unique_ptr<Problem> makeProblem(const std::string &contract, const Dimensions &dimensions,
                                     const ProblemOptions &options) {
  return makeProblemOf(Data::get().contract(contract), dimensions, options);
}

std::unique_ptr<Problem> makeProblemOf(const nlohmann::json &contract, const Dimensions &dimensions,
                                       const ProblemOptions &options,
                                       const nlohmann::json &vocabulary) {
  const Data &data = Data::get();
  auto problem = std::make_unique<Problem>();
  problem->contract = contract;
  problem->vocabulary = vocabulary;
  problem->functions = data.functions;
  reference::Call &call = problem->call;
  call.contract = &problem->contract;
  call.vocabulary = &problem->vocabulary;
  call.functions = &problem->functions;
  call.dimensions = dimensions;

  Random random(options.seed);
  const std::string family = problem->family();
  const nlohmann::json &rules = data.vocabulary["families"][family];
  for (const std::string attribute : rules["attributes"])
    if (problem->contract.contains("parts") || problem->contract.contains(attribute))
      call.attributes[attribute] = attributeOf(problem->contract, rules, attribute);
  // Else it is optional, and chose the contract.
  makeNumbers(*problem, options.fill);
  call.schedule.workers = options.workers;
  makeRows(*problem, options, random);
  for (const auto &[name, kind] : rules["operands"].items()) {
    const auto text = kind.get<std::string>();
    const bool optional = text.starts_with("optional");
    if (text.starts_with("state") ||
        (optional &&
         (name == "bias" ? !options.bias : !problem->contract["operands"].contains(name))))
      continue;
    const std::string storage = problem->contract["operands"][name]["storage"];
    const std::vector<int64_t> shape = shapeOf(family, name, dimensions);
    Buffer &buffer = problem->buffers[name] =
        Buffer(static_cast<size_t>(rowsOf(shape) * reference::rowBytes(storage, shape.back())));
    call.operands[name] = {storage, shape, buffer.bytes()};
    if (storage == "f64" && !text.starts_with("output"))
      for (int64_t i = 0; i < shape.back(); ++i) {
        const double frequency = std::pow(10000.0, -static_cast<double>(i) / shape.back());
        std::memcpy(buffer.base() + 8 * i, &frequency, 8);
      }
    else if (const Filling filling = fillingOf(*problem, name, shape, options.fill);
             text.starts_with("input") && storage == "q8_0") // as a weight it may hold -128, too
      fillCodes(buffer.bytes(), storage, filling, random);
    else if (!text.starts_with("output"))
      fill(buffer.bytes(), storage, filling, random);
  }
  if (family == "rope") {
    fillTable(*problem, options.fill, random);
    if (options.fill == Fill::cancelling)
      turnToAnAxis(*problem, random);
  }
  if (family == "residual" &&
      (options.fill == Fill::cancelling || options.fill == Fill::alternating))
    mirrorSummand(*problem, options.fill, random);
  if (options.fill == Fill::dominating && rules["operands"].contains("gate"))
    keepDominance(*problem);
  if (rules["operands"].contains("kv"))
    makeKv(*problem, options, random);
  if (family == "sample")
    makeSamples(*problem, random);
  return problem;
}

void Problem::evaluate() {
  for (const std::string &output : outputs())
    buffers.at(output).poison();
  const bool isFusion = contract.contains("parts");
  const reference::Entry entry =
      reference::findReference(isFusion ? "reference_fused" : "reference_" + family());
  if (!entry)
    throw std::runtime_error("no reference for '" + family() + "'");
  entry(call);
}

std::vector<std::string> Problem::outputs() const {
  std::vector<std::string> names;
  for (const auto &[name, kind] : vocabulary["families"][family()]["operands"].items())
    if (kind.get<std::string>().starts_with("output"))
      names.push_back(name);
  return names;
}

float Problem::element(const std::string &operand, int64_t index) const {
  const reference::Operand &found = call.operands.at(operand);
  return reference::readScalar(found.storage, found.bytes.data(), index);
}

std::span<float> Problem::floats(const std::string &operand) {
  std::span<std::byte> bytes = buffers.at(operand).bytes();
  return {reinterpret_cast<float *>(bytes.data()), bytes.size() / 4};
}

std::vector<float> Problem::values(const std::string &operand) const {
  const std::span<const std::byte> bytes = buffers.at(operand).bytes();
  const std::string &storage = call.operands.at(operand).storage;
  const auto count = static_cast<int64_t>(bytes.size()) / reference::rowBytes(storage, 1);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(reference::readScalar(storage, bytes.data(), i));
  return values;
}

} // namespace writ::test
