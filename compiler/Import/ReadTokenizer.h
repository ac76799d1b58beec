//===- ReadTokenizer.h - the tokenizer of a model file ----------------------===//
#pragma once

#include "compiler/Import/ModelFile.h"
#include "writ/chat.h"
#include "writ/tokenizer.h"

#include <span>

namespace writ {

/// Reads the tokenizer from a GGUF file's tokenizer.* metadata and checks all of it, so that
/// makeTokenizer succeeds on the result. Tokens that end a generation are those of the eos, eot,
/// eom and fill-in-the-middle keys, and those whose text llama.cpp knows to end one
/// (WellKnownTokens.def); the latter, and some others known by text, have the type that llama.cpp
/// gives them whatever the file says. Errors name key and byte: E041 (a key is missing or of the
/// wrong type), E042 (unknown model or pre-tokenizer), E044 (lists of different lengths), E045 (an
/// id outside the vocabulary), E046 (a key that would change the ids and that Writ does not
/// honour), E040 (any other rule).
TokenizerData readTokenizer(const ModelFile &file);

/// The circuit's template that the file's own is, by digest; null where the file carries none.
/// E047, which says what to do, where the circuit does not declare it.
const ChatTemplate *matchChatTemplate(const ModelFile &file, const TokenizerData &tokenizer,
                                      std::span<const ChatTemplate> chats);

} // namespace writ
