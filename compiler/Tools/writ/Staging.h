//===- Staging.h - a package that appears whole or not at all -------------===//
#pragma once

#include "compiler/Diagnostics/Diagnostic.h"

#include <filesystem>
#include <string>

namespace writ::tool {

/// The folder beside `output` that a package is written in before it takes its place, in one step.
/// Removed where it does not. What a killed compile left there is removed by the next one: its
/// process is gone and its lock is free.
class Staging {
public:
  /// E052: something that is not a package stands there, or the current folder. E002: the folder
  /// cannot be made.
  explicit Staging(const std::string &output);
  ~Staging();
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;

  const std::string &path() const { return folder; }
  /// An error whose places inside path() are named as they will be at `output`.
  Error shown(const Error &error) const;

  /// Replaces the package that stands at `output`. Files there that are no package's are kept.
  void commit();

  /// Where sources stand that could not be built: at `output`, or beside it where that is a package
  /// that works.
  std::string sourcesPlace() const;
  /// Puts them there.
  void commitSources();

private:
  void moveTo(const std::filesystem::path &place);

  std::string given;
  std::filesystem::path output;
  std::string folder; ///< empty once it took its place
  int lock = -1;      ///< an flock on the folder, as long as it is written
};

/// Locks a folder as one that a process works in. Returns a descriptor that holds the lock, or -1
/// with errno, EWOULDBLOCK where another holds it.
int lockFolder(const std::filesystem::path &folder);

/// Removes the folders in `place` whose names are `prefix`, the id of a process that is gone, and
/// `unique` characters more. Those of others cannot be locked or removed, and stay.
void removeAbandoned(const std::filesystem::path &place, const std::string &prefix,
                     size_t unique = 0);

/// Whether the folder is one that a Staging of a living process writes into.
bool isBeingWritten(const std::filesystem::path &folder);

} // namespace writ::tool
