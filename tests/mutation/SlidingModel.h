//===- SlidingModel.h - a tiny model of the second family -----------------===//
#pragma once

#include "compiler/Import/ModelFile.h"

namespace writ::test {

/// Names, shapes and metadata (no bytes) of a model whose layers alternate between a window and the
/// whole context: three layers with a period of two, norms around each block.
class SlidingModel : public ModelFile {
public:
  SlidingModel();

  std::span<const std::byte> bytes(const TensorInfo &) const override { return {}; }
  std::string sha256() const override { return std::string(64, '0'); }
};

} // namespace writ::test
