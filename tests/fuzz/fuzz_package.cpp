//===- fuzz_package.cpp - any text as a JSON file of a package ------------===//
//
// The first byte chooses the part, the rest is its contents; the lock's digests are made to fit.
//
//===----------------------------------------------------------------------===//
#include "tests/mutation/PackageReaders.h"

#include <cstdlib>

using writ::test::PackagePart;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const writ::test::PackageReaders readers;
  // scripts/fuzz makes its seeds in this order.
  constexpr PackagePart parts[] = {PackagePart::lock, PackagePart::tokenizer, PackagePart::chat,
                                   PackagePart::report, PackagePart::ids};
  if (size == 0)
    return 0;
  const std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
  if (!readers.read(parts[data[0] % std::size(parts)], text).isPlaced)
    std::abort();
  return 0;
}
