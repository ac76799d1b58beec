//===- Evidence.h - what has been shown of a provider, bound by digest ----===//
//
// Production needs five kinds of record (C7): circuit, contract, provider (implementation route),
// stitched (op by op inside the model) and end_to_end (logits of a real model). A record lies in
// contracts/evidence/<kind>/<subject>.json and names in `bound` the digest of everything that it
// speaks of; one that differs from what is there now makes the record stale. Records are written by
// `make evidence`; nothing else makes a provider validated.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Resolve/Resolver.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace writ {

/// Digests of what is there now, keyed as records write them: "contract:ID", "map:ID", "source:ID"
/// and "flags:ID" (of a kernel's sources, and of the flags of its bodies), "circuit:ID",
/// "profile:ID", "functions", "vocabulary", "reference", "oracle" (what judges the reference),
/// "inputs:KIND" (what chooses the inputs of what a kind of record measures, and compares), "pool"
/// and "packing" (what runs kernels on threads, and what packs their weights).
using CurrentDigests = std::map<std::string, std::string>;

/// Those of the catalog; the caller adds what it was built of: "source:ID", "flags:ID", and those
/// that are of no file of the data folders.
CurrentDigests catalogDigests(const Catalog &catalog);

/// One record that production needs: where it lies, and the keys that it must bind.
struct EvidenceNeed {
  std::string kind, subject;
  std::vector<std::string> bound;
  Location location; ///< what needs it, in the user's file
};

/// The record of a kernel map's provider; it speaks of every contract that the map names.
EvidenceNeed providerNeed(const KernelMap &map, const Location &location);

/// What no model is needed for: a record of each contract and of each provider.
std::vector<EvidenceNeed> catalogNeeds(const Catalog &catalog);

/// What the evidence of one model speaks of.
struct EvidenceSubject {
  struct Decision {
    std::string contract, provider;
    Location location; ///< of the op, in the circuit
  };
  std::string circuit, profile;
  std::set<std::string> storages; ///< of the weights that are tensors of its file
  std::vector<std::string> kv;    ///< storage of K and V, by group of the circuit
  std::vector<Decision> decisions;
};

/// The needs of one model: its circuit, each contract and provider in use, the stitched and the
/// end-to-end record of (circuit, profile[, storage types]); where K and V are not kept as the
/// circuit says, kv_STORAGE is among these: another model than the one measured. All of them are in
/// the catalog.
std::vector<EvidenceNeed> evidenceNeeds(const Catalog &catalog, const EvidenceSubject &subject);

/// Where the record of a need lies.
std::string evidencePath(const Catalog &catalog, const EvidenceNeed &need);

/// Why a record does not count, or "" where it does. Throws what reading a malformed one throws
/// (E010, E011; E012, E014 and E015 by contracts/schema/evidence.json and, where its verdict is
/// `validated`, by evidence_<kind>.json beside it: a pass says what was measured, and nothing
/// against it).
std::string evidenceFault(const Catalog &catalog, const EvidenceNeed &need,
                          const CurrentDigests &current);

/// Throws E103 for every need that no current record meets, followed by the faults of a malformed
/// record.
void requireEvidence(const Catalog &catalog, const std::vector<EvidenceNeed> &needs,
                     const CurrentDigests &current);

} // namespace writ
