//===- Diagnostic.h - what Writ says when it refuses ----------------------===//
//
// Every error of the compiler is a Diagnostic: a position in the user's file, a message, a code,
// and notes that name the other sites and the fix. Codes are declared in Codes.def, and each has a
// test that pins its text and position.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace writ {

/// A place in a text file. Lines and columns count from 1; 0 means the whole file.
struct Location {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  bool operator==(const Location &) const = default;
};

/// "file:line:column", or "file" alone where line is 0, or "writ" where there is no file.
std::string toString(const Location &location);

/// A further site of a diagnostic, or (without a location) the fix.
struct Note {
  Location location;
  std::string message;
};

/// One error. `code` is the stable identifier ("E101").
struct Diagnostic {
  Location location;
  std::string code;
  std::string message;
  std::vector<Note> notes;
};

/// The text of STYLE: "file:line:column: error: message [code]" and one line for each note. Ends
/// with a line break.
std::string toString(const Diagnostic &diagnostic);

/// Thrown where the compiler stops. Holds at least one diagnostic; what() is the text of all.
class Error : public std::exception {
public:
  explicit Error(Diagnostic diagnostic);
  explicit Error(std::vector<Diagnostic> diagnostics);
  Error(Location location, std::string code, std::string message, std::vector<Note> notes = {});

  const std::vector<Diagnostic> &diagnostics() const { return all; }
  const char *what() const noexcept override { return text.c_str(); }

private:
  std::vector<Diagnostic> all;
  std::string text;
};

} // namespace writ
