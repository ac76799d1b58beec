//===- Sections.h - calls grouped into functions --------------------------===//
//
// An entry is a list of calls, layer by layer. Layers that make the same calls with the same sizes
// are of one kind and share one function; what differs between them (where weights and buffers lie,
// the KV layer) becomes a field of a table with one row for each layer. Both entries share kinds,
// and rows where they are equal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Emit/CallModel.h"

#include <string>
#include <vector>

namespace writ {

/// An argument whose value is not the same in all rows of its kind.
struct SectionField {
  size_t call = 0, argument = 0;
  std::string name; ///< "attn_q_weight"
};

struct SectionRow {
  int64_t layer = -1;
  const Call *calls = nullptr; ///< the first of the kind's calls
};

/// One function of the emitted code.
struct SectionKind {
  std::string name;    ///< "layer", and "layer_2" for the second kind of that section
  std::string section; ///< as in the circuit
  size_t callCount = 0;
  std::vector<SectionField> fields; ///< empty: the rows are all alike
  std::vector<SectionRow> rows;     ///< different ones; row 0 gives the text of the function
};

/// `count` functions calls in sequence: rows [row, row + count) of a kind.
struct SectionRun {
  size_t kind = 0, row = 0, count = 0;
};

struct Sections {
  std::vector<SectionKind> kinds;
  std::vector<SectionRun> prefill, decode;
};

/// The rows point into `model`, which must outlive them.
Sections groupSections(const CallModel &model);

/// The name of an op inside its layer: what follows the last component that is a number
/// ("blk.3.attn_q" → "attn_q"), as an identifier.
std::string localName(const std::string &op);

} // namespace writ
