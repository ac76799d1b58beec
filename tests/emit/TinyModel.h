//===- TinyModel.h - a model file of a few kilobytes, without a file ------===//
#pragma once

#include "compiler/Import/ModelFile.h"

#include <cstdint>
#include <string>

namespace writ::test {

/// Metadata and tensors (names, shapes, storages; no bytes) of a model that the circuit in the
/// repository accepts: two layers, two heads over one KV head, embedding and logits tied.
class TinyModel : public ModelFile {
public:
  struct Sizes {
    int64_t layers = 2, width = 64, heads = 2, kvHeads = 1, ffn = 96, vocabulary = 320;
    float epsilon = 1e-5f; ///< of the norms
    /// Storage of the linear weights, by layer.
    std::string (*storage)(int64_t layer) = [](int64_t) { return std::string("q4_1"); };
  };
  explicit TinyModel(const Sizes &sizes);
  TinyModel() : TinyModel(Sizes()) {}

  std::span<const std::byte> bytes(const TensorInfo &) const override { return {}; }
  std::string sha256() const override { return std::string(64, '0'); }

private:
  void number(const std::string &key, int64_t value);
  void tensor(const std::string &name, const std::string &storage, std::vector<int64_t> shape);
};

} // namespace writ::test
