// The inputs of the `ggml` profile's ops for ggml-oracle, and how far its answers are from the
// reference's.
//
//   ggml_cases inputs DIR       writes DIR/cases.json and DIR/in.bin, as ggml-oracle reads them
//   ggml_cases record DIR       reads the oracle's DIR/answers.json and DIR/out.bin; writes an
//                               array of {"name", "contract", "exact", "output"} to standard
//                               output, `output` being the bytes in hexadecimal, NaN canonical
//   ggml_cases compare RECORD   reads such an array from the record's "cases"; writes for each
//                               case {"name", "contract", "op", "exact", "values", "different",
//                               "worst_ulp", "worst_abs", "nmse"}
//
// scripts/evidence/ggml_ops.py runs it. Exit status: 0 done, 1 failed, 2 wrong usage.
#include "tests/conformance/GgmlCases.h"
#include "tests/conformance/GgmlRecord.h"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace {

using namespace writ::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

std::vector<char> readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeInputs(const fs::path &folder) {
  Json list = Json::array();
  std::ofstream data(folder / "in.bin", std::ios::binary);
  size_t offset = 0;
  for (const GgmlCase &one : ggmlCases()) {
    Json op = one.op;
    for (Json &input : op["inputs"])
      input["offset"] = input["offset"].get<size_t>() + offset;
    op["name"] = one.name;
    list.push_back(op);
    data.write(reinterpret_cast<const char *>(one.bytes.data()),
               static_cast<std::streamsize>(one.bytes.size()));
    offset += one.bytes.size();
  }
  std::ofstream text(folder / "cases.json");
  text << list.dump(1) << '\n';
  text.flush();
  data.flush();
  if (!text || !data)
    throw std::runtime_error("cannot write to " + folder.string());
}

void writeRecord(const fs::path &folder) {
  const std::vector<char> answers = readFile(folder / "answers.json");
  const std::vector<char> data = readFile(folder / "out.bin");
  const Json table = Json::parse(answers.begin(), answers.end());
  const std::vector<GgmlCase> cases = ggmlCases();
  if (table.size() != cases.size())
    throw std::runtime_error("the oracle answered another number of cases");
  Json list = Json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto offset = table[i].at("offset").get<size_t>();
    const auto bytes = table[i].at("bytes").get<size_t>();
    if (offset > data.size() || bytes > data.size() - offset)
      throw std::runtime_error("an answer ends beyond its file");
    const auto *start = reinterpret_cast<const std::byte *>(data.data()) + offset;
    list.push_back(
        {{"name", cases[i].name},
         {"contract", cases[i].contract},
         {"exact", cases[i].isExact},
         {"output", hexOf(canonical({start, start + bytes}, cases[i].storage, cases[i].width))}});
  }
  std::cout << list.dump(1) << '\n';
}

void writeComparison(const fs::path &path) {
  const std::vector<char> text = readFile(path);
  const Json record = Json::parse(text.begin(), text.end());
  const std::vector<GgmlCase> cases = ggmlCases();
  Json list = Json::array();
  for (const GgmlCase &one : cases) {
    const GgmlDistance distance = compareWithRecord(one, record);
    list.push_back({{"name", one.name},
                    {"contract", one.contract},
                    {"op", one.op.at("op")},
                    {"exact", one.isExact},
                    {"values", distance.values},
                    {"different", distance.different},
                    {"worst_ulp", distance.worstUlp},
                    {"worst_abs", distance.worstAbs},
                    {"nmse", distance.nmse()}});
  }
  std::cout << list.dump(1) << '\n';
}

} // namespace

int main(int argc, char **argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "inputs")
      writeInputs(arguments[1]);
    else if (arguments.size() == 2 && arguments[0] == "record")
      writeRecord(arguments[1]);
    else if (arguments.size() == 2 && arguments[0] == "compare")
      writeComparison(arguments[1]);
    else {
      std::cerr << "usage: ggml_cases inputs DIR | record DIR | compare RECORD\n";
      return 2;
    }
    return 0;
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
