//===- tokenizer_tables.cpp - tokenizer.json to tokenizer.bin -------------===//
//
// From stdin to stdout. scripts/fuzz makes the seeds of fuzz_tokenizer with it: no mutation of a
// text gets past the header of such tables.
//
//===----------------------------------------------------------------------===//
#include "writ/tokenizer.h"

#include <iostream>
#include <iterator>

int main() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  writ::TokenizerData data;
  std::string error;
  if (writ::readTokenizerData(text, &data, &error))
    if (const auto tables = writ::compileTokenizer(data, &error)) {
      std::cout << *tables << std::flush;
      return std::cout ? 0 : 1;
    }
  std::cerr << "error: " << error << '\n';
  return 1;
}
