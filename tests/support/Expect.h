//===- Expect.h - pins the exact text of what Writ says -------------------===//
#pragma once

#include "compiler/Diagnostics/Diagnostic.h"

#include <gtest/gtest.h>
#include <string>

namespace writ::test {

/// The text of the Error that `action` throws; "no error" where it does not.
template <typename Action> std::string errorOf(Action action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

} // namespace writ::test

/// Expects that `statement` throws an Error whose whole text is `text`.
#define EXPECT_DIAGNOSTIC(statement, text)                                                         \
  EXPECT_EQ(writ::test::errorOf([&] { (void)(statement); }), text)
