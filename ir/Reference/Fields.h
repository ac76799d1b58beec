//===- Fields.h - reading a contract --------------------------------------===//
//
// Each op reads all fields of its contract before it computes. `checkAllRead` then finds a field
// that nobody asked for, so that no part of a contract can be without effect.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Reference/Reference.h"

#include <initializer_list>
#include <set>

namespace writ::reference {

class Fields {
public:
  /// `family` is the op family whose contract is expected.
  Fields(const Call &call, const char *family);

  /// The word of a field; "partition.kind" is the field `kind` of the object `partition`.
  const std::string &word(const std::string &field);
  /// Which of `known` the field's word is; any other word is an error that names the field. Where
  /// the word leaves that open, the call's schedule decides.
  size_t choose(const std::string &field, std::initializer_list<const char *> known);
  /// The field's word must be this one.
  void require(const std::string &field, const char *known) { choose(field, {known}); }
  int64_t count(const std::string &field);
  float hexFloat(const std::string &field);
  /// The field states an attribute of the op: the caller's must be the same.
  const std::string &attribute(const std::string &field);
  /// The words of `exceptional`, where the op's arithmetic is IEEE's and nothing is said beyond it.
  /// `flushes`: the op's multiply-add counts subnormals as zero.
  void requireIeee(const char *nan = "propagates", const char *infinity = "ieee",
                   bool flushes = false);
  /// Throws where a field was not read. False where nothing more is asked of the op.
  [[nodiscard]] bool checkAllRead() const;

  /// The storage of an operand.
  const std::string &storage(const std::string &operand) const;
  /// Those of these operands that the contract has hold binary32, binary16 or bfloat16.
  void requireScalars(std::initializer_list<const char *> operands) const;
  void requireStorage(const std::string &operand, const char *storage) const;

  [[noreturn]] void fail(const std::string &field, const std::string &what) const;

  [[noreturn]] void unknownWord(const std::string &field, const std::string &word,
                                std::initializer_list<const char *> known) const;

private:
  const nlohmann::json &value(const std::string &field);
  bool isLeftOpen(const std::string &field, const std::string &word) const;

  const Call &call;
  std::string id;
  std::set<std::string> read;
};

/// The number "0x1.8p-3".
double parseHexFloat(std::string_view text);

} // namespace writ::reference
