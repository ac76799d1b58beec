//===- BuiltOf.cpp - of what a program that measures was built ------------===//
#include "tests/conformance/BuiltOf.h"

#include "compiler/Support/Digest.h"
#include "compiler/Tools/writ/EvidenceDigests.h"
#include "tests/conformance/Data.h"

namespace writ::test {

std::map<std::string, std::string> builtOf() {
  std::map<std::string, std::string> digests = tool::sourceDigests();
  addProviders(digests);
  const Data &data = Data::get(); // that this program reads when it runs, wherever it was built
  for (const auto *contracts : {&data.contracts, &data.composed})
    for (const auto &[id, json] : *contracts)
      digests["contract:" + id] = sha256Json(json);
  for (const auto &[id, json] : data.kernelMaps)
    digests["map:" + id] = sha256Json(json);
  digests["vocabulary"] = sha256Json(data.vocabulary);
  digests["functions"] = sha256Json(data.functions);
  return digests;
}

} // namespace writ::test
