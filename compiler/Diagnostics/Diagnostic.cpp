//===- Diagnostic.cpp - what Writ says when it refuses --------------------===//
#include "compiler/Diagnostics/Diagnostic.h"

#include "compiler/Diagnostics/Codes.h"

namespace writ {

/// What a user's text brings along can neither end the message nor speak to the terminal.
static std::string withoutControls(const std::string &text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t')
      shown += c;
    else
      shown += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return shown;
}

std::string toString(const Location &location) {
  if (location.file.empty())
    return "writ";
  std::string text = location.file;
  if (location.line != 0) {
    text += ":" + std::to_string(location.line);
    if (location.column != 0)
      text += ":" + std::to_string(location.column);
  }
  return text;
}

std::string toString(const Diagnostic &diagnostic) {
  std::string text = toString(diagnostic.location) +
                     ": error: " + withoutControls(diagnostic.message) + " [" + diagnostic.code +
                     "]\n";
  for (const Note &note : diagnostic.notes) {
    // A note that has no site is the fix; it stands alone.
    if (!note.location.file.empty())
      text += toString(note.location) + ": ";
    text += "note: " + withoutControls(note.message) + "\n";
  }
  return text;
}

static std::string textOf(const std::vector<Diagnostic> &diagnostics) {
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics)
    text += toString(diagnostic);
  return text;
}

Error::Error(Diagnostic diagnostic) : Error(std::vector{std::move(diagnostic)}) {}

Error::Error(std::vector<Diagnostic> diagnostics)
    : all(std::move(diagnostics)), text(textOf(all)) {}

Error::Error(Location location, std::string code, std::string message, std::vector<Note> notes)
    : Error(
          Diagnostic{std::move(location), std::move(code), std::move(message), std::move(notes)}) {}

static constexpr CodeInfo codes[] = {
#define WRIT_CODE(id, title) {#id, title},
#include "compiler/Diagnostics/Codes.def"
};

std::span<const CodeInfo> diagnosticCodes() {
  return codes;
}

std::string_view codeTitle(std::string_view id) {
  for (const CodeInfo &code : codes)
    if (code.id == id)
      return code.title;
  return {};
}

} // namespace writ
