// A model file that changes while a package is made of it is an error at that file, and nothing of
// the package is left.
#include "compiler/Diagnostics/Diagnostic.h"
#include "compiler/Support/FileIO.h"
#include "compiler/Tools/writ/Staging.h"
#include "compiler/Tools/writ/WritePackage.h"
#include "tests/import/SmallModels.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace writ::test {
namespace fs = std::filesystem;
namespace {

class ChangedModel : public testing::Test {
protected:
  ChangedModel() {
    char pattern[] = "/tmp/writ-changed-XXXXXX";
    folder = mkdtemp(pattern);
    path = folder + "/m.gguf";
    GgufBuilder builder = smallLlama();
    writeFileAtomically(path, builder.build());
    data = builder.place("data");
    fs::create_directory(folder + "/out");
  }
  ~ChangedModel() override { fs::remove_all(folder); }

  tool::CompiledModel compiled() const {
    tool::CompileOptions options;
    options.data = WRIT_SOURCE_DIR;
    options.bringup = true;
    return tool::compileModel(path, options);
  }

  /// What is said where `change` is made after the first weight was packed; "" where a package
  /// came.
  std::string fault(const std::function<void()> &change) const {
    try {
      const tool::CompiledModel model = compiled();
      tool::Staging staging(folder + "/out/p");
      bool changed = false;
      tool::writePackage(model, staging.path(), [&](double) {
        if (!std::exchange(changed, true))
          change();
      });
      staging.commit();
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }
  bool isOutEmpty() const { return fs::is_empty(folder + "/out"); }

  std::string folder, path;
  uint64_t data = 0;
};

TEST_F(ChangedModel, NegativeControl_OneThatIsMovedAwayIsStillTheSame) {
  EXPECT_EQ(fault([&] { fs::rename(path, folder + "/other.gguf"); }), "");
  EXPECT_TRUE(fs::exists(folder + "/out/p/writ.lock.json"));
}

TEST_F(ChangedModel, C10_E001_CutOffWhileItIsPacked) {
  EXPECT_EQ(fault([&] { fs::resize_file(path, data); }),
            path + ": error: cannot read the file: it became shorter while it was read [E001]\n");
  EXPECT_TRUE(isOutEmpty());
}

TEST_F(ChangedModel, C10_E001_CutOffBeforeItsDigestIsMade) {
  const auto model = openModelFile(path);
  fs::resize_file(path, data);
  try {
    model->sha256();
    FAIL() << "nothing was refused";
  } catch (const Error &error) {
    EXPECT_EQ(error.what(), path + ": error: cannot read the file: it became shorter while it was "
                                   "read [E001]\n");
  }
}

TEST_F(ChangedModel, C10_E001_WrittenToWhileItIsPacked) {
  const std::string said = fault([&] {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end).put('x').flush();
    // A clock of the file system may be coarser than this test.
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  });
  EXPECT_EQ(said,
            path + ": error: cannot read the file: it was changed while it was read [E001]\n");
  EXPECT_TRUE(isOutEmpty());
}

} // namespace
} // namespace writ::test
