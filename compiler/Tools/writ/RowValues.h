//===- RowValues.h - the elements of a row of activations -----------------===//
//
// Two rows have the same bits where their elements have. A NaN's payload is no part of a value, and
// neither are the bytes that round a row up.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace writ::tool {

/// A run of equal elements inside a row.
struct RowField {
  std::string type; ///< "f32", "i8", …
  std::string
      name; ///< "" where the row is nothing else; of activation codes "codes", "scales", "sums"
  int64_t count, bytes;
};

/// The fields of a row of `width` elements, one behind the other. A storage that is none of the
/// scalars and of the codes of packed_layout.h is `rowBytes` single bytes.
std::vector<RowField> rowFields(const std::string &storage, int64_t width, int64_t rowBytes);

/// The row's elements alone, each NaN as the quiet one of its type.
std::vector<std::byte> canonicalRow(const std::vector<RowField> &fields, const std::byte *row);

struct RowDifference {
  std::string type, field;
  int64_t index;    ///< in the field
  uint64_t a, b;    ///< bits
  int64_t elements; ///< that differ
};
/// The first element in which two canonical rows differ.
std::optional<RowDifference> firstDifference(const std::vector<RowField> &fields,
                                             const std::vector<std::byte> &a,
                                             const std::vector<std::byte> &b);

/// An element for people and for programs: "-0x1.8p+3 (0xc1400000)", "-7".
std::string valueText(const std::string &type, uint64_t bits);

} // namespace writ::tool
