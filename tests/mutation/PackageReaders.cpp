#include "tests/mutation/PackageReaders.h"

#include "compiler/Tools/writ/Commands.h"
#include "compiler/Tools/writ/LockedFile.h"
#include "compiler/Tools/writ/TokenIds.h"
#include "writ/package_format.h"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace writ::test {
namespace {

/// A report as compiling writes it, of two ops that share a decision.
const char *const kReport = R"({
"schema": "writ.report.v1",
"parameters": {"layers": 2, "epsilon": 1e-05},
"decisions": [
{"family": "linear", "phase": "decode", "contract": "linear_f32_v0", "target": "cpu",
"storage": {"activation": "f32", "out": "f32", "weight": "f32"},
"dimensions": {"k": 64, "n": 96},
"attributes": {},
"provider": "linear_f32", "isa": ["scalar", "avx2"], "partition": "column",
"rejected": [{"provider": "linear_f16", "because": ["weight is f32, it takes f16"]}]}],
"ops": [
{"op": "blk.0.up", "phase": "decode", "decision": 0, "circuit_line": 12},
{"op": "blk.1.up", "phase": "decode", "decision": 0, "circuit_line": 12}],
"weights": [],
"calls": {"prefill": [], "decode": []}}
)";

/// As a new file: file systems write an old one that is cut off to the disk when it is closed.
void put(const std::string &path, std::string_view text) {
  std::filesystem::remove(path);
  toy::writeFile(path, text);
}

/// Nothing is shown of what is printed in its life.
class Silence {
public:
  Silence() {
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  ~Silence() {
    std::fflush(stdout);
    ::dup2(output, STDOUT_FILENO);
    ::close(output);
  }

private:
  int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
};

/// What is built on the tokenizer and the chat template: their errors are errors of the text given
/// to them, so that none is asked for.
void converse(const writ_package *package) {
  const std::string text = "the <|im_start|> caf\xc3\xa9 \xff?";
  int32_t ids[64];
  int64_t needed = 0;
  char out[256];
  writ_package_info info{};
  info.struct_size = sizeof info;
  writ_package_get_info(package, &info, nullptr);
  for (const int32_t flags : {0, WRIT_TOKENIZE_ADD_SPECIAL | WRIT_TOKENIZE_PARSE_SPECIAL})
    if (writ_tokenize(package, text.data(), int64_t(text.size()), flags, ids, std::size(ids),
                      &needed, nullptr) == WRIT_OK)
      writ_detokenize(package, ids, needed, flags, out, sizeof out, &needed, nullptr);
  for (int32_t id = -1; id <= toy::kVocabulary; ++id)
    writ_token_ends_generation(package, id);
  const writ_message messages[] = {{"system", "be brief"}, {"user", "the"}, {"assistant", "a"}};
  for (const int64_t count : {1, 3}) {
    writ_chat_tokenize(package, messages, count, ids, std::size(ids), &needed, nullptr);
    writ_chat_render(package, messages, count, out, sizeof out, &needed, nullptr);
  }
}

} // namespace

PackageReaders::PackageReaders() {
  toy::writePackage(folder.path());
  texts[PackagePart::report] = kReport;
  texts[PackagePart::ids] = "[1, 2, 30, 47, 2147483647]\n";
  texts[PackagePart::tokenizer] = toy::readFile(file(PackagePart::tokenizer));
  texts[PackagePart::chat] = toy::readFile(file(PackagePart::chat));
  toy::writeFile(file(PackagePart::report), kReport);
  toy::changeLock(folder.path(),
                  [](toy::Json &lock) { lock["files"][kReportFile] = toy::sha256(kReport); });
  texts[PackagePart::lock] = toy::readFile(file(PackagePart::lock));
}

std::string PackageReaders::file(PackagePart part) const {
  return folder.path(part == PackagePart::lock        ? kLockFile
                     : part == PackagePart::tokenizer ? kTokenizerFile
                     : part == PackagePart::chat      ? kChatFile
                                                      : kReportFile);
}

/// The runtime's errors have a status in place of a code, and name the file.
Answer PackageReaders::open() const {
  writ_package *package = nullptr;
  writ_error error{};
  const writ_status status =
      writ_package_open_linked(toy::alikeModel(), folder.path().c_str(), nullptr, &package, &error);
  if (status != WRIT_OK) {
    const std::string said = error.text;
    const bool names = said.find(".json") != std::string::npos ||
                       said.find(kTokenizerTables) != std::string::npos ||
                       said.find(folder.path()) != std::string::npos ||
                       said.find(kWeightsFile) != std::string::npos;
    return {said.empty() ? "refused without a word" : said, names && !package};
  }
  converse(package);
  writ_package_close(package, nullptr);
  return {};
}

Answer PackageReaders::explain() const {
  const Silence silence;
  return answerOf([&] {
    tool::runExplain({folder.path(), ""});
    tool::runExplain({folder.path(), "blk.1.up"});
  });
}

Answer PackageReaders::read(PackagePart part, const std::string &text) const {
  if (part == PackagePart::ids)
    return answerOf([&] { tool::parseIds(text, "--ids"); });
  if (part == PackagePart::tokenizer) {
    // People and tools read the text; the runtime reads the tables that are made of it.
    std::string tables;
    const Answer answer = answerOf([&] { tables = tool::tokenizerTables(file(part), text); });
    if (!answer.accepted())
      return answer;
    put(folder.path(kTokenizerTables), tables);
    toy::Json lock = toy::Json::parse(good(PackagePart::lock));
    lock["tokenizer"]["tables"]["sha256"] = toy::sha256(tables);
    put(file(PackagePart::lock), lock.dump(2));
    const Answer opened = open();
    put(folder.path(kTokenizerTables), tool::tokenizerTables(file(part), good(part)));
    put(file(PackagePart::lock), good(PackagePart::lock));
    return opened;
  }
  put(file(part), text);
  if (part != PackagePart::lock) {
    toy::Json lock = toy::Json::parse(good(PackagePart::lock));
    (part == PackagePart::report ? lock["files"][kReportFile] : lock["chat"]["sha256"]) =
        toy::sha256(text);
    put(file(PackagePart::lock), lock.dump(2));
  }
  Answer answer = part == PackagePart::report ? explain() : open();
  if (part == PackagePart::lock) {
    // Each of the lock's readers wants other fields of it; both have to stand it.
    const Answer other = explain();
    answer.isPlaced = answer.isPlaced && other.isPlaced;
    answer.said += other.said;
  }
  for (const PackagePart changed : {part, PackagePart::lock})
    put(file(changed), good(changed));
  return answer;
}

} // namespace writ::test
