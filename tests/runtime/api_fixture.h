//===- api_fixture.h - a package, a session, and what the C API says ------===//
#pragma once

#include "toy_package.h"

#include <gtest/gtest.h>

namespace toy {

inline void defaults(writ_session_options &) {}

class ApiTest : public testing::Test {
protected:
  ApiTest()
      : opened(toy::alikeModel(), [](writ_session_options &options) {
          options.context_tokens = 64;
          options.max_sequences = 2;
          options.max_outputs = 4;
          options.max_rows = 8;
        }) {}

  void says(writ_status status, writ_status expected, const std::string &text) {
    EXPECT_EQ(status, expected) << error.text;
    EXPECT_EQ(error.status, expected);
    EXPECT_NE(std::string(error.text).find(text), std::string::npos) << error.text;
    error = {};
  }

  Opened opened;
  writ_error error{};
};

} // namespace toy
