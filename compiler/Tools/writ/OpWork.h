//===- OpWork.h - what a call has to move and to compute ------------------===//
#pragma once

#include "compiler/Tools/ceilings/Ceilings.h"
#include "compiler/Tools/writ/PackageCalls.h"

namespace writ::tool {

/// Bytes count weights as the model file stores them, each row of activations once for each op that
/// reads or writes it, and keys and values of the positions that a query sees once for each KV
/// head. Operations are the multiplications and additions of matrices and of attention; what else
/// an op computes is bound by its bytes.
struct OpWork {
  double bytes = 0, operations = 0;
  bool ofCodes = false;   ///< the operations are of 8-bit codes, not of binary32
  bool ofBfloats = false; ///< the body that ran multiplies bfloat16 by instructions of their own

  OpWork &operator+=(const OpWork &other);
  /// The least time that the ceilings allow, in seconds.
  double floor(const Ceilings &ceilings) const;
};

/// The work of a call in a step with these rows.
OpWork workOf(const PackageCall &call, const std::vector<PackageKvGroup> &groups,
              const writ_rows &rows);

} // namespace writ::tool
