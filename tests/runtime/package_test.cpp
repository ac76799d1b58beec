//===- package_test.cpp - a package opens only where all its parts agree ----===//

#include "toy_package.h"
#include "writ/package_format.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>

namespace fs = std::filesystem;
using toy::Json;

namespace {

class PackageTest : public testing::Test {
protected:
  PackageTest() { toy::writePackage(folder.path("p")); }

  writ_status open(int32_t verify = 0) {
    writ_package_close(package, nullptr);
    writ_open_options options;
    writ_open_options_init(&options);
    options.verify = verify;
    error = {};
    return writ_package_open_linked(toy::alikeModel(), folder.path("p").c_str(), &options, &package,
                                    &error);
  }
  void refused(writ_status expected, const std::string &text) {
    EXPECT_EQ(open(), expected);
    EXPECT_EQ(package, nullptr);
    EXPECT_NE(std::string(error.text).find(text), std::string::npos) << error.text;
  }
  bool hashed() const {
    writ_package_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(writ_package_get_info(package, &info, nullptr), WRIT_OK);
    return info.weights_hashed != 0;
  }
  std::string file(const std::string &name) const { return folder.path("p/" + name); }
  /// As the package's build leaves it.
  void writeLibrary(const std::string &bytes) {
    fs::create_directories(file("lib"));
    fs::remove(file(kLibrary)); // an earlier one may be mapped
    toy::writeFile(file(kLibrary), bytes);
    toy::writeFile(file(kLibrary + writ::kDigestSuffix), toy::sha256(bytes) + "  libmodel.so\n");
  }
  inline static const std::string kLibrary = writ::kLibraryFile;
  void alterWeights(size_t at) {
    std::string bytes = toy::readFile(file("weights.safetensors"));
    bytes[at] ^= 1;
    toy::writeFile(file("weights.safetensors"), bytes);
  }
  ~PackageTest() override { writ_package_close(package, nullptr); }

  toy::TemporaryFolder folder;
  writ_package *package = nullptr;
  writ_error error{};
};

TEST_F(PackageTest, C10_APackageOfAnotherVersionIsRefusedWithTheDifference) {
  toy::changeLock(folder.path("p"), [](Json &lock) { lock["package_version"] = 4; });
  refused(WRIT_VERSION_MISMATCH, "package_version is 4, this library reads 5");
  toy::changeLock(folder.path("p"), [](Json &lock) { lock["schema"] = "writ.lock.v9"; });
  refused(WRIT_VERSION_MISMATCH, "schema is 'writ.lock.v9', this library reads 'writ.lock.v1'");
}

TEST_F(PackageTest, N18_EachMissingFieldIsNamed) {
  for (const char *pointer :
       {"/schema",       "/package_version", "/production",         "/model",
        "/model/name",   "/model/sha256",    "/circuit/id",         "/circuit/sha256",
        "/profile/id",   "/profile/sha256",  "/resolution_sha256",  "/weights",
        "/weights/file", "/weights/sha256",  "/weights/bytes",      "/weights/data_offset",
        "/tokenizer",    "/tokenizer/file",  "/tokenizer/sha256",   "/chat/file",
        "/chat/sha256",  "/files",           "/files/ir~1call.mlir"}) {
    toy::writePackage(folder.path("p"), [&](Json &lock) {
      const Json::json_pointer at(pointer);
      lock.at(at.parent_pointer()).erase(at.back());
    });
    std::string name = std::string(pointer).substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    if (const size_t slash = name.find("~1"); slash != std::string::npos)
      name.replace(slash, 2, "/");
    refused(WRIT_BAD_PACKAGE, "writ.lock.json: field '" + name + "' is missing");
  }
}

TEST_F(PackageTest, N18_EachFieldOfAWrongKindIsNamed) {
  const auto with = [&](const char *pointer, const Json &value, const std::string &text) {
    toy::writePackage(folder.path("p"),
                      [&](Json &lock) { lock[Json::json_pointer(pointer)] = value; });
    refused(WRIT_BAD_PACKAGE, text);
  };
  with("/package_version", "1", "field 'package_version' is \"1\"");
  with("/production", 1, "field 'production' is 1, expected true or false");
  with("/least_isa", "sse9",
       "field 'least_isa' is \"sse9\", expected an instruction set that this library knows");
  with("/weights/bytes", -1, "field 'weights.bytes' is -1");
  with("/weights/bytes", 0.5, "field 'weights.bytes' is 0.5");
  with("/weights/bytes", uint64_t(1) << 63, "field 'weights.bytes' is 9223372036854775808");
  with("/weights/data_offset", 100,
       "field 'weights.data_offset' is 100, expected a multiple of 64");
  with("/weights/data_offset", 192, "has 640 bytes, but");
  with("/weights/bytes", INT64_MAX, "has 640 bytes, but");
  with("/weights/sha256", std::string(64, 'A'), "expected 64 lower-case hexadecimal digits");
  with("/weights/file", "../weights.safetensors", "expected the name of a file beside the lock");
  with("/tokenizer/file", "/etc/passwd", "expected the name of a file beside the lock");
  with("/model", "toy", "'model' is not an object");
  with("/files/ir~1call.mlir", "abc", "field 'files.ir/call.mlir' is \"abc\"");
  // A message holds no document.
  with("/schema", Json::array({1, Json::array({2})}), "field 'schema' is an array of 2, expected");
  with("/schema", Json::object({{"a", 1}}), "field 'schema' is an object of 1, expected");
  with("/production", std::string(5000, 'x'), "xxx..., expected true or false");
}

TEST_F(PackageTest, N18_ALockThatSaysMoreThanIsReadIsRefused) {
  for (const char *pointer : {"/extra", "/model/extra", "/circuit/extra", "/profile/extra",
                              "/weights/extra", "/tokenizer/extra", "/chat/extra"}) {
    toy::writePackage(folder.path("p"), [&](Json &lock) { lock[Json::json_pointer(pointer)] = 1; });
    std::string name = std::string(pointer).substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    refused(WRIT_BAD_PACKAGE, "field \"" + name + "\" is unknown in package_version 5");
  }
  toy::writePackage(folder.path("p"));
  const std::string lock = toy::readFile(file("writ.lock.json"));
  toy::writeFile(file("writ.lock.json"), "{\"production\": false, " + lock.substr(1));
  refused(WRIT_BAD_PACKAGE, "writ.lock.json: key \"production\" occurs twice in an object");
}

TEST_F(PackageTest, N18_DeepNestingIsRefusedAndNoCrash) {
  const auto nested = [](size_t levels) {
    return "{\"schema\": " + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  toy::writeFile(file("writ.lock.json"), nested(1'000'000));
  refused(WRIT_BAD_PACKAGE, "writ.lock.json: nested deeper than 128 levels");
  toy::writeFile(file("writ.lock.json"), nested(127)); // 128 with the object
  refused(WRIT_BAD_PACKAGE, "field 'schema' is an array of 1, expected a string");
  const std::string chat = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  toy::writePackage(folder.path("p"),
                    [&](Json &lock) { lock["chat"]["sha256"] = toy::sha256(chat); });
  toy::writeFile(file("chat.json"), chat);
  refused(WRIT_BAD_PACKAGE, "chat.json: nested deeper than 128 levels");
}

TEST_F(PackageTest, N18_ALockThatIsNotJsonIsRefused) {
  toy::writeFile(file("writ.lock.json"), "{\"schema\":");
  refused(WRIT_BAD_PACKAGE, "writ.lock.json is not JSON");
  fs::remove(file("writ.lock.json"));
  refused(WRIT_IO_ERROR, "writ.lock.json");
}

TEST_F(PackageTest, C10_AnAlteredFileIsRefusedByName) {
  for (const char *name : {"tokenizer.bin", "chat.json", "weights.safetensors"}) {
    toy::writePackage(folder.path("p"));
    std::string bytes = toy::readFile(file(name));
    bytes[bytes.size() - 1] ^= 1;
    toy::writeFile(file(name), bytes);
    refused(WRIT_DIGEST_MISMATCH, std::string(name) + " has SHA-256 ");
  }
  for (const char *name : {"tokenizer.bin", "chat.json", "weights.safetensors"}) {
    toy::writePackage(folder.path("p"));
    fs::remove(file(name));
    refused(WRIT_IO_ERROR, name);
  }
}

TEST_F(PackageTest, C10_WeightsOfAnotherSizeOrHeaderAreRefused) {
  std::string bytes = toy::readFile(file("weights.safetensors"));
  toy::writeFile(file("weights.safetensors"), bytes.substr(0, bytes.size() - 8));
  refused(WRIT_BAD_PACKAGE, "weights.safetensors has 632 bytes");
  toy::writeFile(file("weights.safetensors"), bytes + "x");
  refused(WRIT_BAD_PACKAGE, "weights.safetensors has 641 bytes");
  bytes[0] ^= 8;
  toy::writeFile(file("weights.safetensors"), bytes);
  refused(WRIT_BAD_PACKAGE, "the header has ");
  toy::writeFile(file("weights.safetensors"), "");
  refused(WRIT_BAD_PACKAGE, "weights.safetensors has 0 bytes");
}

TEST_F(PackageTest, C10_TheStampSparesLaterOpensTheHashing) {
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  EXPECT_TRUE(hashed());
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  EXPECT_FALSE(hashed());
  ASSERT_EQ(open(/*verify=*/1), WRIT_OK) << error.text;
  EXPECT_TRUE(hashed());
}

TEST_F(PackageTest, C10_AStampDoesNotCoverAlteredWeights) {
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  const auto time = fs::last_write_time(file("weights.safetensors"));
  alterWeights(300);
  refused(WRIT_DIGEST_MISMATCH, "it was altered");
  // Nor where the modification time is set back.
  fs::last_write_time(file("weights.safetensors"), time);
  refused(WRIT_DIGEST_MISMATCH, "it was altered");
  alterWeights(300);
  EXPECT_EQ(open(), WRIT_OK) << error.text;
}

TEST_F(PackageTest, C10_AStampOfOtherWeightsIsNone) {
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  // A lock that names other weights: the stamp holds the file's digest, not the lock's.
  toy::changeLock(folder.path("p"),
                  [](Json &lock) { lock["weights"]["sha256"] = std::string(64, '0'); });
  refused(WRIT_DIGEST_MISMATCH, "it was altered");
  toy::writePackage(folder.path("p"));
  for (const char *stamp : {"", "{}", "not json", "{\"schema\":\"writ.stamp.v2\"}"}) {
    toy::writeFile(file(".writ-stamp"), stamp);
    ASSERT_EQ(open(), WRIT_OK) << error.text;
    EXPECT_TRUE(hashed()) << stamp;
  }
}

TEST_F(PackageTest, C10_AnOpenThatWasKilledLeavesAPartOfAStampAtMost) {
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  const std::string stamp = toy::readFile(file(".writ-stamp"));
  for (size_t size = 0; size < stamp.size(); size += 7) { // what had been written
    toy::writeFile(file(".writ-stamp"), stamp.substr(0, size));
    ASSERT_EQ(open(), WRIT_OK) << error.text;
    EXPECT_TRUE(hashed()) << size;
  }
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  EXPECT_FALSE(hashed()) << "it was made anew";
  std::set<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder.path("p")))
    names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"writ.lock.json", "weights.safetensors", "tokenizer.json",
                                          "tokenizer.bin", "chat.json", ".writ-stamp"}));
}

TEST_F(PackageTest, C10_TheStampIsNotWrittenThroughALink) {
  toy::writeFile(folder.path("precious"), "precious");
  fs::create_symlink(folder.path("precious"), file(".writ-stamp"));
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  EXPECT_EQ(toy::readFile(folder.path("precious")), "precious");
}

TEST_F(PackageTest, C10_WithoutAPlaceForTheStampEachOpenHashes) {
  // A folder with that name cannot be replaced, whoever runs the test.
  fs::create_directories(file(".writ-stamp/in the way"));
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(open(), WRIT_OK) << error.text;
    EXPECT_TRUE(hashed());
  }
  for (const auto &entry : fs::directory_iterator(folder.path("p")))
    EXPECT_EQ(entry.path().filename().string().find(".writ-stamp."), std::string::npos)
        << "a temporary file was left";
}

TEST_F(PackageTest, C10_APackageMayBeMoved) {
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  ASSERT_EQ(writ_package_close(package, nullptr), WRIT_OK);
  package = nullptr;
  writeLibrary(toy::readFile(TOY_MODEL_LIBRARY));
  fs::rename(folder.path("p"), folder.path("elsewhere"));
  ASSERT_EQ(writ_package_open(folder.path("elsewhere").c_str(), nullptr, &package, &error), WRIT_OK)
      << error.text;
  EXPECT_FALSE(hashed()) << "the stamp moved with it";
}

TEST_F(PackageTest, N18_TheLibraryIsLoadedAndRuns) {
  writ_package_close(package, nullptr);
  EXPECT_EQ(writ_package_open(folder.path("p").c_str(), nullptr, &package, &error), WRIT_IO_ERROR);
  EXPECT_NE(std::string(error.text).find("lib/libmodel.so"), std::string::npos) << error.text;
  writeLibrary("no library");
  EXPECT_EQ(writ_package_open(folder.path("p").c_str(), nullptr, &package, &error), WRIT_IO_ERROR);
  EXPECT_NE(std::string(error.text).find("cannot load"), std::string::npos) << error.text;
  writeLibrary(toy::readFile(TOY_MODEL_LIBRARY));
  ASSERT_EQ(writ_package_open(folder.path("p").c_str(), nullptr, &package, &error), WRIT_OK)
      << error.text;
  writ_session *session = nullptr;
  writ_sequence sequence{};
  ASSERT_EQ(writ_session_create(package, nullptr, &session, &error), WRIT_OK) << error.text;
  ASSERT_EQ(writ_sequence_create(session, &sequence, &error), WRIT_OK);
  const std::vector<int32_t> ids = toy::tokens(50, 4);
  ASSERT_EQ(writ_sequence_feed(session, sequence, ids.data(), 50, WRIT_OUTPUTS_LAST, nullptr,
                               nullptr, nullptr, &error),
            WRIT_OK)
      << error.text;
  const float *logits = writ_session_logits(session, 0);
  EXPECT_EQ(std::vector(logits, logits + toy::kVocabulary), toy::expectedLogits(ids));
  EXPECT_EQ(writ_package_close(package, &error), WRIT_BUSY) << "a session of it lives"; // N21
  EXPECT_EQ(writ_session_destroy(session, &error), WRIT_OK);
}

TEST_F(PackageTest, C10_ALibraryThatIsNotTheOneThatWasBuiltIsNotLoaded) {
  const auto refusedLibrary = [&](writ_status expected, const std::string &text) {
    EXPECT_EQ(writ_package_open(folder.path("p").c_str(), nullptr, &package, &error), expected);
    EXPECT_EQ(package, nullptr);
    EXPECT_NE(std::string(error.text).find(text), std::string::npos) << error.text;
  };
  const std::string library = toy::readFile(TOY_MODEL_LIBRARY);
  const std::string digestFile = file(kLibrary + writ::kDigestSuffix);
  writeLibrary(library);
  const std::string digest = toy::readFile(digestFile);
  // Half of a library: mapping it and running into its end would end the process.
  toy::writeFile(file(kLibrary), library.substr(0, library.size() / 2));
  refusedLibrary(WRIT_DIGEST_MISMATCH,
                 "lib/libmodel.so (" + std::to_string(library.size() / 2) + " bytes) has SHA-256 ");
  refusedLibrary(WRIT_DIGEST_MISMATCH, "but lib/libmodel.so.sha256 names " + digest.substr(0, 64));
  toy::writeFile(file(kLibrary), library);
  for (const char *nonsense : {"", "abc", "  libmodel.so"}) {
    toy::writeFile(digestFile, nonsense);
    refusedLibrary(WRIT_BAD_PACKAGE, "lib/libmodel.so.sha256 does not begin with a SHA-256");
  }
  fs::remove(digestFile);
  refusedLibrary(WRIT_IO_ERROR, "lib/libmodel.so.sha256");
  toy::writeFile(digestFile, digest);
  EXPECT_EQ(writ_package_open(folder.path("p").c_str(), nullptr, &package, &error), WRIT_OK)
      << error.text;
}

TEST_F(PackageTest, C10_CodeThatDoesNotBelongToTheLockIsRefused) {
  const auto refusedModel = [&](const std::function<void(writ_model_desc &)> &change,
                                writ_status expected, const std::string &text) {
    writ_model_desc model = *toy::alikeModel();
    change(model);
    EXPECT_EQ(writ_package_open_linked(&model, folder.path("p").c_str(), nullptr, &package, &error),
              expected);
    EXPECT_EQ(package, nullptr);
    EXPECT_NE(std::string(error.text).find(text), std::string::npos) << error.text;
  };
  const std::string other(64, 'b');
  refusedModel([](auto &model) { model.abi = 7; }, WRIT_VERSION_MISMATCH,
               "ABI 7, this library runs " + std::to_string(WRIT_MODEL_ABI));
  refusedModel([&](auto &model) { model.resolution_sha256 = other.c_str(); }, WRIT_DIGEST_MISMATCH,
               "resolution_sha256 " + other);
  refusedModel([&](auto &model) { model.call_sha256 = other.c_str(); }, WRIT_DIGEST_MISMATCH,
               "call_sha256 " + other + ", but writ.lock.json names " + toy::kCalls);
  refusedModel([&](auto &model) { model.model_sha256 = other.c_str(); }, WRIT_DIGEST_MISMATCH,
               "model_sha256 " + other + ", but writ.lock.json names " + toy::kModelFile);
  refusedModel([&](auto &model) { model.circuit_sha256 = other.c_str(); }, WRIT_DIGEST_MISMATCH,
               "circuit_sha256 " + other + ", but writ.lock.json names " + toy::kCircuit);
  refusedModel([&](auto &model) { model.profile_sha256 = other.c_str(); }, WRIT_DIGEST_MISMATCH,
               "profile_sha256 " + other + ", but writ.lock.json names " + toy::kProfile);
  refusedModel([](auto &model) { model.name = "other"; }, WRIT_BAD_PACKAGE,
               "name other, but writ.lock.json names toy; they are not of one package");
  refusedModel([](auto &model) { model.circuit = "other"; }, WRIT_BAD_PACKAGE,
               "circuit other, but writ.lock.json names toy_circuit");
  refusedModel([](auto &model) { model.profile = "f32"; }, WRIT_BAD_PACKAGE,
               "profile f32, but writ.lock.json names portable");
  refusedModel([](auto &model) { model.production = 0; }, WRIT_BAD_PACKAGE, "production 0");
  refusedModel([](auto &model) { model.weights_bytes += 64; }, WRIT_BAD_PACKAGE,
               "weights_bytes 576");
  refusedModel([](auto &model) { model.vocabulary = 0; }, WRIT_BAD_PACKAGE, "vocabulary is 0");
  refusedModel([](auto &model) { model.vocabulary = 20; }, WRIT_BAD_PACKAGE, "34 tokens, but");
  refusedModel([](auto &model) { model.context_length = int64_t(1) << 31; }, WRIT_BAD_PACKAGE,
               "context_length");
  refusedModel([](auto &model) { model.row_arena_bytes = -1; }, WRIT_BAD_PACKAGE,
               "row_arena_bytes");
  refusedModel([](auto &model) { model.logits_offset += 4; }, WRIT_BAD_PACKAGE,
               "output_arena_bytes");
  refusedModel([](auto &model) { model.decode = nullptr; }, WRIT_BAD_PACKAGE, "an entry is null");
  refusedModel([](auto &model) { model.name = nullptr; }, WRIT_BAD_PACKAGE, "name is null");
  refusedModel([](auto &model) { model.call_sha256 = nullptr; }, WRIT_BAD_PACKAGE,
               "call_sha256 is null");
  refusedModel([](auto &model) { model.call_count = 3; }, WRIT_BAD_PACKAGE, "calls is null");
  const writ_call_info nameless{"op", "family", nullptr, "provider"};
  refusedModel([&](auto &model) { model.call_count = 1, model.calls = &nameless; },
               WRIT_BAD_PACKAGE, "calls is 0, expected an op");
  const writ_provider bodiless{"id", "", {nullptr, nullptr, nullptr}};
  refusedModel([&](auto &model) { model.sample = &bodiless; }, WRIT_BAD_PACKAGE,
               "a provider is incomplete");
  refusedModel([](auto &model) { model.kv_groups = nullptr; }, WRIT_BAD_PACKAGE, "kv_groups");
}

TEST_F(PackageTest, C7_ABringupPackageSaysSo) {
  writ_model_desc model = *toy::alikeModel();
  model.production = 0;
  toy::changeLock(folder.path("p"), [](Json &lock) { lock["production"] = false; });
  ASSERT_EQ(writ_package_open_linked(&model, folder.path("p").c_str(), nullptr, &package, &error),
            WRIT_OK);
  writ_package_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(writ_package_get_info(package, &info, nullptr), WRIT_OK);
  EXPECT_EQ(info.production, 0);
}

TEST_F(PackageTest, S4_AMachineThatLacksWhatThePackageRequiresIsRefused) {
  const auto session = [&](const char *least) {
    toy::changeLock(folder.path("p"), [&](Json &lock) { lock["least_isa"] = least; });
    EXPECT_EQ(writ_package_open_linked(toy::alikeModel(), folder.path("p").c_str(), nullptr,
                                       &package, &error),
              WRIT_OK);
    writ_session *created = nullptr;
    const writ_status status = writ_session_create(package, nullptr, &created, &error);
    writ_session_destroy(created, nullptr);
    writ_package_close(package, nullptr);
    package = nullptr;
    return status;
  };
  EXPECT_EQ(session(writ_isa_name(writ_isa_best())), WRIT_OK) << error.text;
#if defined(__x86_64__)
  const std::string foreign = "neon";
#else
  const std::string foreign = "avx2";
#endif
  EXPECT_EQ(session(foreign.c_str()), WRIT_UNSUPPORTED);
  EXPECT_EQ(std::string(error.text), "the package was compiled to run with '" + foreign +
                                         "' or more, but this machine supports '" +
                                         writ_isa_name(writ_isa_best()) +
                                         "' at best; compile the model without --least-isa");
}

TEST_F(PackageTest, N18_InfoIsWhatTheLockAndTheModelSay) {
  ASSERT_EQ(open(), WRIT_OK) << error.text;
  writ_package_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(writ_package_get_info(package, &info, &error), WRIT_OK);
  EXPECT_EQ(info.production, 1);
  EXPECT_EQ(info.package_version, writ_package_version());
  EXPECT_EQ(info.path, folder.path("p"));
  EXPECT_STREQ(info.model_name, "toy");
  EXPECT_EQ(info.model_sha256, std::string(64, '1'));
  EXPECT_STREQ(info.circuit, "toy_circuit");
  EXPECT_EQ(info.circuit_sha256, std::string(64, '2'));
  EXPECT_STREQ(info.profile, "portable");
  EXPECT_EQ(info.profile_sha256, std::string(64, '3'));
  EXPECT_EQ(info.resolution_sha256, toy::kResolution);
  EXPECT_EQ(info.weights_sha256, toy::sha256(toy::readFile(file("weights.safetensors"))));
  EXPECT_EQ(info.vocabulary, toy::kVocabulary);
  EXPECT_EQ(info.context_length, toy::kContext);
  EXPECT_EQ(info.weights_bytes, 512);
  EXPECT_EQ(info.kv_bytes_per_token, 3 * 2 * 2 * 16);
  EXPECT_EQ(info.bos_token, -1);
  EXPECT_EQ(info.eos_token, toy::idOf(toy::kEnd));
  EXPECT_EQ(info.has_chat_template, 1);
  EXPECT_EQ(writ_package_model(package), toy::alikeModel());
}

TEST_F(PackageTest, N18_ProgressAndWarningsGoToTheCallersLog) {
  fs::create_directories(file(".writ-stamp/in the way"));
  std::vector<std::string> lines;
  writ_open_options options;
  writ_open_options_init(&options);
  options.log = [](void *user, int32_t, const char *message) {
    static_cast<std::vector<std::string> *>(user)->push_back(message);
  };
  options.log_user = &lines;
  ASSERT_EQ(writ_package_open_linked(toy::alikeModel(), folder.path("p").c_str(), &options,
                                     &package, &error),
            WRIT_OK);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("will be hashed at each open"), std::string::npos);
}

} // namespace
