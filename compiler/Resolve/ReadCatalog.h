//===- ReadCatalog.h - JSON documents to catalog entries (private) --------===//
#pragma once

#include "compiler/Resolve/Catalog.h"

namespace writ {

/// Each takes a document that its schema has accepted.
std::map<std::string, Family> readFamilies(const Json &vocabulary);
Contract readContract(const Json &json);
Profile readProfile(const Json &json);
KernelMap readKernelMap(const Json &json);

/// The contract of a fusion that a map names at `id`: "a+b", the contracts of the parts in order.
/// E302 or E123 where it is not one.
Contract composeContract(const Catalog &catalog, const Family &fusion, const Json &id);
/// The id of that contract.
std::string composedId(const std::vector<std::string> &contracts);

/// Faults of the whole that no schema sees. Each appends what it finds.
void checkFamilies(const Catalog &catalog, std::vector<Diagnostic> &found);
/// E122: a fusion whose names are not those of its parts.
void checkFusions(const Catalog &catalog, std::vector<Diagnostic> &found);
void checkContracts(const Catalog &catalog, std::vector<Diagnostic> &found);
void checkProfiles(const Catalog &catalog, std::vector<Diagnostic> &found);
/// Gives each profile the rules of the one that it extends. E129: there is none that can be
/// extended.
void extendProfiles(std::map<std::string, Profile> &profiles, std::vector<Diagnostic> &found);
void checkKernelMaps(const Catalog &catalog, const KnownFunctions &functions,
                     std::vector<Diagnostic> &found);
void checkOverlaps(const Catalog &catalog, std::vector<Diagnostic> &found);
/// E128: a map contradicts a contract that it claims to keep. E303: it splits elsewhere. All names
/// are known and of the right family.
void checkMapClaims(const Catalog &catalog, std::vector<Diagnostic> &found);
/// E306: a function that cannot be evaluated. E307: a function, or a part of one, that decides
/// nothing.
void checkFunctions(const Json &functions, const Json &vocabulary, std::vector<Diagnostic> &found);
/// E307: words that no field of any family can take.
void checkWordLists(const Catalog &catalog, std::vector<Diagnostic> &found);
/// E304: a contract whose invariance cannot be derived. E127: a map that breaks it.
void checkInvariance(const Catalog &catalog, std::vector<Diagnostic> &found);

/// E301: a contract that the reference cannot read, so that nothing could be compared with it.
void checkReadable(const Catalog &catalog, const Json &functions, std::vector<Diagnostic> &found);

/// The value of a contract's field, "partition.kind" reaching into objects; null where it is not
/// there.
const Json *findField(const Json &contract, std::string_view path);

/// E302: a contract id that is not one, with the nearest ids.
Diagnostic unknownContract(const Catalog &catalog, const std::string &id, const Location &location);

/// Where two maps accept the same requirement: one text a dimension ("rows in [32, 64]"), or
/// nothing where they are disjoint.
std::optional<std::vector<std::string>> overlapOf(const KernelMap &a, const KernelMap &b);
/// "rows in [1, 64], k in [32, …) step 32"
std::string acceptedRegion(const KernelMap &map);

} // namespace writ
