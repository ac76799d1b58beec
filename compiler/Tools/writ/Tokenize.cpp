//===- Tokenize.cpp - `writ tokenize` -------------------------------------===//
#include "compiler/Import/ReadTokenizer.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/LockedFile.h"
#include "compiler/Tools/writ/Output.h"
#include "compiler/Tools/writ/Session.h"
#include "compiler/Tools/writ/TokenIds.h"
#include "writ/package_format.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace writ::tool {
namespace {

/// The tokenizer of a model file or of a package, without loading any weight.
std::unique_ptr<Tokenizer> tokenizerOf(const std::string &target) {
  std::string error;
  std::unique_ptr<Tokenizer> tokenizer;
  if (isPackage(target)) {
    const std::string tables = readLockedFile(target, kTokenizerTables);
    tokenizer = openTokenizer(tables, &error);
    if (!tokenizer)
      throw Error({target + "/" + kTokenizerTables}, "E040", error);
    return tokenizer;
  }
  tokenizer = makeTokenizer(readTokenizer(*openModelFile(target)), &error);
  if (!tokenizer)
    throw Error({target}, "E040", error);
  return tokenizer;
}

} // namespace

int runTokenize(const TokenizeCommand &command) {
  const std::unique_ptr<Tokenizer> tokenizer = tokenizerOf(command.target);
  std::vector<int32_t> ids;
  if (command.ids) {
    ids = parseIds(*command.ids, "--ids");
    for (int32_t id : ids)
      if (id < 0 || id >= tokenizer->size())
        throw Error(
            {"--ids"}, "E051",
            fmt::format("id {} is not in the vocabulary of {} tokens", id, tokenizer->size()));
  } else {
    EncodeOptions options;
    options.parseSpecial = !command.noSpecial;
    ids = tokenizer->encode(command.text ? *command.text : readFile(*command.textFile), options);
  }
  if (command.json) {
    nlohmann::json pieces = nlohmann::json::array();
    for (int32_t id : ids)
      pieces.push_back(tokenizer->piece(id, true));
    // Pieces may end inside a character; such bytes come out as U+FFFD.
    printLine(nlohmann::ordered_json{{"ids", ids}, {"pieces", pieces}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (command.ids) {
    std::string text;
    for (int32_t id : ids)
      text += tokenizer->piece(id, true);
    printLine(text);
  } else {
    printLine(fmt::format("{}", fmt::join(ids, " ")));
  }
  return exitOk;
}

} // namespace writ::tool
