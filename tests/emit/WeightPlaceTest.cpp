// A packed weight that does not fill its planned place stops the package: nothing is shifted or
// cut.
#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Tools/writ/WritePackage.h"
#include "tests/emit/Example.h"

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace writ::test {
namespace {

/// A tiny model whose tensors have bytes, all zero, as many as their shape says or one too few.
class ZeroModel : public TinyModel {
public:
  explicit ZeroModel(size_t missing) : missing(missing) {}
  std::span<const std::byte> bytes(const TensorInfo &tensor) const override {
    int64_t elements = 1;
    for (const int64_t extent : tensor.shape)
      elements *= extent;
    const auto size = size_t(elements / tensor.storage->blockElements * tensor.storage->blockBytes);
    return {zeros.data(), size - missing};
  }

private:
  std::vector<std::byte> zeros = std::vector<std::byte>(1 << 20);
  size_t missing;
};

class WeightPlace : public testing::Test {
protected:
  WeightPlace() {
    char pattern[] = "/tmp/writ-place-XXXXXX";
    folder = mkdtemp(pattern);
  }
  ~WeightPlace() override { std::filesystem::remove_all(folder); }

  tool::CompiledModel compiled(size_t missing = 0) const {
    tool::CompiledModel model;
    model.file = std::make_unique<ZeroModel>(missing);
    model.catalog = repositoryCatalog(WRIT_SOURCE_DIR);
    model.profile = "portable";
    model.instance =
        instantiate(model.catalog, findCircuit(model.catalog, *model.file), *model.file);
    model.tokenizer.model = "gpt2"; // as little of one as can be written
    model.tokenizer.preTokenizer = "gpt-2";
    model.tokenizer.tokens = {"a"};
    model.call = compileTiny(model.catalog, model.profile).callModel();
    return model;
  }
  std::string fault(const tool::CompiledModel &model) const {
    try {
      tool::writePackage(model, folder, [](double) {});
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }

  std::string folder;
};

TEST_F(WeightPlace, NegativeControl_AModelAsPlannedIsPacked) {
  EXPECT_EQ(fault(compiled()), "");
}

TEST_F(WeightPlace, N10_E053_ASourceOfAnotherSizeIsRefused) {
  const tool::CompiledModel model = compiled(1);
  const PackedWeight &first = model.call.weights.front();
  EXPECT_EQ(fault(model),
            fmt::format("weights.safetensors: error: weight '{}' ({} as {}) does not fit its place "
                        "in the package [E053]\n",
                        first.name, first.storage, first.layout));
}

TEST_F(WeightPlace, N10_E053_AWeightAtAnotherOffsetIsRefused) {
  tool::CompiledModel model = compiled();
  PackedWeight &second = model.call.weights.at(1);
  const int64_t offset = second.offset;
  second.offset += 64;
  EXPECT_EQ(fault(model),
            fmt::format("{}/weights.safetensors: error: weight '{}' lies at {}, the plan says {} "
                        "[E053]\n",
                        folder, second.name, offset, offset + 64));
}

} // namespace
} // namespace writ::test
