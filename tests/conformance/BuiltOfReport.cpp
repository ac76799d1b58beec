//===- BuiltOfReport.cpp - a GoogleTest report says it --------------------===//
//
// A record binds what `writ` was built of; what was measured is what this program was built of. Its
// report names that, as a property `built_of` of the whole run ("key=digest key=digest"), under the
// keys of records: whoever makes a record of it compares. Without a report nothing is asked.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/BuiltOf.h"

#include <gtest/gtest.h>

namespace writ::test {
namespace {

class SaysWhatItWasBuiltOf : public testing::Environment {
public:
  void SetUp() override {
    if (GTEST_FLAG_GET(output).empty())
      return;
    std::string text;
    for (const auto &[key, digest] : builtOf())
      text += (text.empty() ? "" : " ") + key + "=" + digest;
    testing::Test::RecordProperty("built_of", text);
  }
};

const testing::Environment *const says =
    testing::AddGlobalTestEnvironment(new SaysWhatItWasBuiltOf);

} // namespace
} // namespace writ::test
