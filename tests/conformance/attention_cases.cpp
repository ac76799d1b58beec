//===- attention_cases.cpp - the inputs of the oracles of attention -------===//
//
//   attention_cases OUT.bin      query, keys and values of each case; on standard output a JSON
//                                array that says where they stand
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/AttentionCases.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>

namespace writ::test {
namespace {

void write(const std::string &path) {
  std::ofstream out(path, std::ios::binary);
  nlohmann::json table = nlohmann::json::array();
  for (const AttentionCase &one : attentionCases()) {
    const auto problem = makeProblem(one);
    const auto place = [&](std::span<const std::byte> bytes) {
      const int64_t offset = out.tellp();
      out.write(reinterpret_cast<const char *>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
      for (int64_t end = out.tellp(); end % 64 != 0; ++end)
        out.put(0);
      return nlohmann::json{{"offset", offset}, {"bytes", bytes.size()}};
    };
    table.push_back({{"name", one.name},
                     {"oracle", one.oracle},
                     {"keys", one.keys},
                     {"heads", one.heads},
                     {"head_dim", one.headDim},
                     {"threads", one.workers},
                     {"queries", one.queries},
                     {"scale", problem->call.numbers.at("scale")},
                     {"inputs", inputDigest(*problem)},
                     {"q", place(problem->call.operands.at("q").bytes)},
                     {"k", place(problem->kv.sequences[0].k)},
                     {"v", place(problem->kv.sequences[0].v)}});
  }
  if (!out.flush())
    throw std::runtime_error("cannot write " + path);
  std::cout << table.dump(1) << '\n';
}

} // namespace
} // namespace writ::test

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: attention_cases OUT.bin\n";
    return 2;
  }
  try {
    writ::test::write(argv[1]);
    return 0;
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
