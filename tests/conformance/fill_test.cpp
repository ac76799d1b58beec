//===- fill_test.cpp - that each fill does what its name says -------------===//
//
// Of the sums of each family: how far terms cancel, which dominates, how their sizes spread. The
// plain fill has none of it, which shows that the figures can tell.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/OracleStorage.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace writ::test {
namespace {

using Terms = std::vector<double>;

int64_t d(const Problem &problem, const char *name) {
  return problem.call.dimensions.at(name);
}

/// What a linear adds up: products of elements, or of blocks where the weights are blocks.
std::vector<Terms> linearSums(const Problem &problem) {
  const reference::Operand &weight = problem.call.operands.at("weight");
  const reference::Operand &activation = problem.call.operands.at("activation");
  const int64_t k = d(problem, "k"), unit = oracle::blockSize(weight.storage);
  const bool isCodes = activation.storage.starts_with("i8_") || activation.storage[0] == 'q';
  std::vector<Terms> sums;
  for (int64_t row = 0; row < d(problem, "rows"); ++row)
    for (int64_t column = 0; column < d(problem, "n"); ++column) {
      const std::byte *w = weight.bytes.data() + column * oracle::rowBytes(weight.storage, k);
      const std::byte *x = activation.bytes.data() + row * oracle::rowBytes(activation.storage, k);
      const oracle::Codes codes{activation.storage, x, k};
      Terms terms(static_cast<size_t>(k / unit));
      for (int64_t i = 0; i < k; ++i) {
        double value = 0;
        if (unit > 1) {
          const oracle::BlockElement e = oracle::blockElementAt(weight.storage, w, i);
          value = e.scale * e.subScale * e.code + e.minimum * e.subMinimum;
        } else {
          value = oracle::scalarAt(weight.storage, w, i);
        }
        const double factor = isCodes ? codes.scale(i / codes.blockSize()) * codes.code(i)
                                      : oracle::scalarAt(activation.storage, x, i);
        terms[static_cast<size_t>(i / unit)] += value * factor;
      }
      sums.push_back(terms);
    }
  return sums;
}

double stored(const Problem &problem, const std::vector<std::byte> &plane, int64_t index) {
  const std::string &storage = problem.kv.storage;
  if (storage[0] != 'q')
    return oracle::scalarAt(storage, plane.data(), index);
  const oracle::BlockElement e = oracle::blockElementAt(storage, plane.data(), index);
  return e.scale * e.code;
}

/// Of each query and key the products of the score; of each query and column the weighted values.
struct AttentionSums {
  std::vector<Terms> scores, values;
};
AttentionSums attentionSums(const Problem &problem) {
  AttentionSums sums;
  const int64_t heads = d(problem, "heads"), kvHeads = d(problem, "kv_heads");
  const int64_t dim = d(problem, "head_dim");
  for (int64_t row = 0; row < d(problem, "rows"); ++row)
    for (int64_t head = 0; head < heads; ++head) {
      const auto &sequence = problem.kv.sequences[problem.call.rows.sequence[row]];
      const int64_t end = problem.call.rows.position[row] + 1;
      const int64_t first =
          problem.kv.window > 0 ? std::max<int64_t>(0, end - problem.kv.window) : 0;
      std::vector<double> scores, weights;
      const auto at = [&](int64_t key, int64_t i) {
        return (key * kvHeads + head / (heads / kvHeads)) * dim + i;
      };
      for (int64_t key = first; key < end; ++key) {
        Terms terms;
        for (int64_t i = 0; i < dim; ++i)
          terms.push_back(oracle::valueOf(problem, "q", (row * heads + head) * dim + i) *
                          stored(problem, sequence.k, at(key, i)));
        scores.push_back(std::accumulate(terms.begin(), terms.end(), 0.0) *
                         problem.call.numbers.at("scale"));
        sums.scores.push_back(terms);
      }
      const double largest = *std::max_element(scores.begin(), scores.end());
      for (int64_t i = 0; i < dim; ++i) {
        Terms terms;
        for (int64_t key = first; key < end; ++key)
          terms.push_back(std::exp(scores[key - first] - largest) *
                          stored(problem, sequence.v, at(key, i)));
        sums.values.push_back(terms);
      }
    }
  return sums;
}

/// The elements of each vector, or their squares.
std::vector<Terms> normSums(const Problem &problem, bool isSquared) {
  std::vector<Terms> sums;
  const std::vector<double> x = oracle::valuesOf(problem, "input");
  const auto n = static_cast<size_t>(d(problem, "n"));
  for (size_t at = 0; at < x.size(); at += n) {
    sums.emplace_back(x.begin() + static_cast<ptrdiff_t>(at),
                      x.begin() + static_cast<ptrdiff_t>(at + n));
    for (double &value : sums.back())
      value *= isSquared ? value : 1;
  }
  return sums;
}

/// The values that one scale has to serve. A fusion makes them itself: its first part, alone.
std::vector<Terms> blockTerms(const Problem &problem) {
  std::vector<double> x;
  if (problem.contract.contains("parts")) {
    const nlohmann::json &part = problem.contract["parts"][0];
    auto first = makeProblemOf(part, problem.call.dimensions, {});
    for (const auto &[name, operand] : first->call.operands)
      if (name != "out")
        std::ranges::copy(problem.call.operands.at(name).bytes, operand.bytes.begin());
    first->evaluate();
    x = oracle::valuesOf(*first, "out");
  } else {
    x = oracle::valuesOf(problem, "input");
  }
  std::vector<Terms> blocks;
  const auto size = static_cast<size_t>(sharedScale(problem.contract));
  for (size_t at = 0; at < x.size(); at += size)
    blocks.emplace_back(x.begin() + static_cast<ptrdiff_t>(at),
                        x.begin() + static_cast<ptrdiff_t>(at + size));
  return blocks;
}

std::vector<Terms> residualSums(const Problem &problem) {
  std::vector<Terms> sums;
  const std::vector<double> a = oracle::valuesOf(problem, "a"), b = oracle::valuesOf(problem, "b");
  for (size_t i = 0; i < a.size(); ++i)
    sums.push_back({a[i], b[i]});
  return sums;
}

double cancellation(const Terms &terms) {
  double sum = 0, magnitude = 0;
  for (const double term : terms) {
    sum += term;
    magnitude += std::fabs(term);
  }
  return sum == 0 ? HUGE_VAL : magnitude / std::fabs(sum);
}

/// Of each pair that a rotation takes, the two products of the result that is nearer to zero.
std::vector<Terms> ropeSums(const Problem &problem) {
  std::vector<Terms> sums;
  const int64_t dims = d(problem, "rope_dims"), pairs = dims / 2, dim = d(problem, "head_dim");
  const bool interleaved = problem.contract["pairing"] == "interleaved";
  for (int64_t head = 0; head < d(problem, "rows") * d(problem, "heads"); ++head)
    for (int64_t i = 0; i < pairs; ++i) {
      const int64_t first = head * dim + (interleaved ? 2 * i : i);
      const int64_t row = head / d(problem, "heads") * dims;
      const double x0 = oracle::valueOf(problem, "input", first);
      const double x1 = oracle::valueOf(problem, "input", first + (interleaved ? 1 : pairs));
      const double c = oracle::valueOf(problem, "table", row + i);
      const double s = oracle::valueOf(problem, "table", row + pairs + i);
      const Terms real{x0 * c, -x1 * s}, imaginary{x0 * s, x1 * c};
      sums.push_back(cancellation(real) > cancellation(imaginary) ? real : imaginary);
    }
  return sums;
}

/// Whether one sum is what a fill's name says.
bool reaches(Fill fill, Terms terms) {
  for (double &term : terms)
    term = std::fabs(term);
  std::sort(terms.begin(), terms.end());
  const double largest = terms.back(), least = terms.front(), quarter = terms[terms.size() / 4];
  switch (fill) {
  case Fill::alternating: // near one magnitude; how far they cancel is seen by the caller
    return largest < 1.25 * least;
  case Fill::dominating:
    return largest > 4 * std::accumulate(terms.begin(), terms.end() - 1, 0.0);
  case Fill::spread:
    return largest >= 0x1p12 * quarter;
  case Fill::equal:
    return largest == least;
  case Fill::tiny:
    return largest > 0 && largest < 0x1p-4;
  default:
    return largest > 0;
  }
}

/// The part of the sums that reach it.
double share(Fill fill, const std::vector<Terms> &sums) {
  const double cancels = fill == Fill::cancelling ? 0x1p10 : fill == Fill::alternating ? 0x1p5 : 0;
  const auto count = std::count_if(sums.begin(), sums.end(), [&](const Terms &sum) {
    return cancellation(sum) >= cancels && reaches(fill, sum);
  });
  return static_cast<double>(count) / static_cast<double>(sums.size());
}

struct Kind {
  std::string name; ///< of the sums
  std::vector<Fill> fills;
  std::function<std::vector<Terms>(const Problem &)> sums;
};

/// The kinds of sums of a contract, and the fills that are about them. A sum of squares cannot
/// cancel; attention's weights are never equal. The values of a block are no sum, but their sizes
/// decide what is left of each beside the largest; of a norm, the largest is of a whole vector.
std::vector<Kind> kindsOf(const nlohmann::json &contract) {
  const std::string family = contract["family"];
  if (contract.contains("parts")) {
    std::vector<Kind> kinds = kindsOf(contract["parts"][0]);
    kinds.push_back({"values of a block", {Fill::spread, Fill::equal, Fill::tiny}, blockTerms});
    if (kinds.size() == 1)
      kinds[0].fills.push_back(Fill::dominating);
    return kinds;
  }
  if (family == "quantize_activation")
    return {{"values of a block",
             {Fill::spread, Fill::equal, Fill::tiny, Fill::dominating},
             blockTerms}};
  if (family == "linear")
    return {{"products",
             {Fill::cancelling, Fill::spread, Fill::equal, Fill::tiny, Fill::dominating,
              Fill::alternating},
             linearSums}};
  if (family == "attention")
    return {
        {"scores",
         {Fill::cancelling, Fill::spread, Fill::equal, Fill::tiny, Fill::dominating,
          Fill::alternating},
         [](const Problem &p) { return attentionSums(p).scores; }},
        {"values",
         {Fill::cancelling, Fill::tiny, Fill::alternating},
         [](const Problem &p) { return attentionSums(p).values; }},
    };
  if (family == "layer_norm")
    return {{"elements",
             {Fill::cancelling, Fill::spread, Fill::equal, Fill::tiny, Fill::dominating,
              Fill::alternating},
             [](const Problem &p) { return normSums(p, false); }}};
  if (family == "rms_norm" || family == "l2_norm")
    return {{"squares",
             {Fill::spread, Fill::equal, Fill::tiny, Fill::dominating},
             [](const Problem &p) { return normSums(p, true); }}};
  if (family == "residual")
    return {{"summands", {Fill::cancelling, Fill::tiny, Fill::alternating}, residualSums}};
  if (family == "rope")
    return {{"rotations", {Fill::cancelling}, ropeSums}};
  return {};
}

Dimensions dimensionsOf(const nlohmann::json &contract) {
  const std::string family = contract["family"];
  if (family == "linear") {
    const std::string storage = contract["operands"]["weight"]["storage"];
    const int64_t unit = oracle::blockSize(storage);
    return {{"rows", 3}, {"k", unit == 1 ? 192 : 16 * unit}, {"n", 5}};
  }
  if (family == "attention")
    return {{"rows", 2}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 64}};
  if (family == "rope")
    return {{"rows", 3}, {"heads", 2}, {"head_dim", 32}, {"rope_dims", 24}};
  if (const int64_t block = sharedScale(contract))
    return {{"rows", 3}, {"vectors", 1}, {"n", 4 * block}, {"k", 4 * block}};
  return {{"rows", 3}, {"vectors", 2}, {"n", 128}};
}

class F8_Fills : public testing::TestWithParam<std::string> {};

TEST_P(F8_Fills, EachDoesWhatItsNameSays) {
  const nlohmann::json &contract = Data::get().contract(GetParam());
  for (const Kind &kind : kindsOf(contract))
    for (const Fill fill : kind.fills) {
      const auto made = [&](Fill values) {
        return kind.sums(*makeProblem(GetParam(), dimensionsOf(contract),
                                      {.fill = values, .seed = 3, .positions = {31, 63}}));
      };
      EXPECT_GE(share(fill, made(fill)), 0.8) << kind.name << ", " << nameOf(fill);
      EXPECT_LE(share(fill, made(Fill::plain)), 0.2)
          << kind.name << ": plain values are " << nameOf(fill) << ", too";
    }
}

std::vector<std::string> contractsWithSums() {
  std::vector<std::string> ids;
  for (const auto *contracts : {&Data::get().contracts, &Data::get().composed})
    for (const auto &[id, contract] : *contracts)
      if (!kindsOf(contract).empty())
        ids.push_back(id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(, F8_Fills, testing::ValuesIn(contractsWithSums()), [](const auto &info) {
  std::string name = info.param;
  std::ranges::replace(name, '+', '_');
  return name;
});

// Every fill but `special` has a family that reaches it, and each is another input than the plain
// one.
TEST(F8_FillsDiffer, FromEachOtherForEveryOperand) {
  for (const std::string &id : contractsWithSums()) {
    const nlohmann::json &contract = Data::get().contract(id);
    std::set<std::vector<std::byte>> seen;
    for (const Fill fill : kFills) {
      const auto problem =
          makeProblem(id, dimensionsOf(contract), {.fill = fill, .seed = 3, .positions = {31, 63}});
      std::vector<std::byte> bytes;
      for (const auto &[name, operand] : problem->call.operands)
        bytes.insert(bytes.end(), operand.bytes.begin(), operand.bytes.end());
      EXPECT_TRUE(seen.insert(bytes).second) << id << ", " << nameOf(fill);
    }
  }
}

} // namespace
} // namespace writ::test
