//===- OpenAny.h - what a fuzz target does with a model file's bytes ------===//
#pragma once

#include "tests/import/ReadModel.h"

#include <cstdlib>
#include <cstring>

namespace writ::test {

/// Opens the bytes and reads all that they give. Only an Error that says where may come out.
inline void openAny(const void *bytes, size_t size, const char *name) {
  try {
    auto model = openModelBytes({static_cast<const std::byte *>(bytes), size}, name);
    inspectText(*model);
    inspectJson(*model).dump();
    for (const TensorInfo &info : model->tensors()) {
      std::span<const std::byte> content = model->bytes(info);
      if (!content.empty() &&
          (content.data() < bytes ||
           content.data() + content.size() > static_cast<const std::byte *>(bytes) + size))
        std::abort();
    }
  } catch (const Error &error) {
    if (std::strncmp(error.what(), name, std::strlen(name)) != 0)
      std::abort();
  }
}

/// The same, and what the compiler reads of such a model beyond its file: circuit and tokenizer.
inline void readAny(const void *bytes, size_t size, const char *name) {
  static const Catalog catalog = Catalog::load(CatalogPaths::below(WRIT_SOURCE_DIR), {});
  openAny(bytes, size, name);
  const Refusals refusals = readModel({static_cast<const std::byte *>(bytes), size}, name, catalog);
  for (const std::string &refusal : {refusals.circuit, refusals.tokenizer, refusals.chat})
    if (!isPlaced(refusal, name, catalog))
      std::abort();
}

} // namespace writ::test
