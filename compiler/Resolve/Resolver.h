//===- Resolver.h - exactly one provider, or an error that teaches --------===//
#pragma once

#include "compiler/Resolve/Catalog.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace writ {

/// What one (op, phase) asks for. Storages, dimensions and attributes are keyed by the names of the
/// family. `contract` is the id after the profile was applied.
struct Requirement {
  std::string op;    ///< family
  std::string name;  ///< the circuit's name of the op: "blk.3.attn_q"
  std::string phase; ///< "prefill", "decode", "sample"
  std::string contract;
  std::string target = "cpu";
  std::map<std::string, std::string> storage; ///< of the operands that are present
  std::map<std::string, int64_t> dimensions;  ///< static ones; "rows" is absent: any number
  std::map<std::string, std::string> attributes;
  Location location;                   ///< of the op in the circuit
  std::vector<std::string> parts = {}; ///< of a fusion: the ops that it is made of, in order
  std::string unfused = {};            ///< what kept a fusion of the profile away, or ""
};

/// The decision, and what every later stage carries as `resolved_execution`.
struct Resolution {
  std::string contract, contractDigest;
  std::string provider, mapDigest;
  std::string contractOracle, production, threaded;
  std::string partition;
  std::vector<std::string> extent;
  int64_t grain = 1;
  bool schedulingAltersOrder = false;
  std::vector<std::string> isa;

  bool operator==(const Resolution &) const = default;
};

/// One candidate, and why it was taken or not (for `writ explain`).
struct Candidate {
  std::string provider;
  std::vector<std::string> differences; ///< fields that do not fit; empty: it matches
  std::vector<std::string> reasons;     ///< one line for each difference
};

/// The contract id of an op under a profile. `wanted` is the circuit's required_contracts value:
/// "profile", or an id that must equal the profile's (E110). `given`: the numbers and operands that
/// the op gives; of several rules that fit, the one counts whose contract takes the optional ones
/// among them and no other (TakenNames.h). E111: no rule; E112: two rules.
std::string contractOf(const Catalog &catalog, const Profile &profile, const std::string &op,
                       const std::map<std::string, std::string> &fields, const std::string &wanted,
                       const Location &location, const std::set<std::string> &given = {});

std::vector<Candidate> candidates(const Catalog &catalog, const Requirement &requirement);

/// Exactly one provider, or E101 (none; notes name the nearest and the fields that differ) or E102
/// (several; notes name each and the region where they overlap).
Resolution resolve(const Catalog &catalog, const Requirement &requirement);

} // namespace writ
