//===- chat.h - from a conversation to the text a model was trained on ------===//
//
// Model files carry chat templates as Jinja programs. Writ runs none: a circuit declares, as data,
// what each program that it knows writes, and names the program by the SHA-256 of its text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "writ/tokenizer.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace writ {

/// One message of a conversation. `role` is "user", "assistant" or "system".
struct ChatTurn {
  std::string role;
  std::string content;
};

/// What stands before and after the content of one role's turn.
struct ChatMarkup {
  std::string prefix, suffix;

  bool operator==(const ChatMarkup &) const = default;
};

/// One chat template, as a circuit declares it:
///   {"name": …, "sha256": …, "begin": …, "turn": {"system": {"prefix", "suffix"} or null,
///    "user": …, "assistant": …}, "default_system": … or null, "generation_prompt": …, "stop": …}
struct ChatTemplate {
  std::string name;
  std::string sha256; ///< of the template's text in the model file, lower-case hexadecimal
  std::string begin;  ///< before the first turn, BOS included where the template writes it
  std::optional<ChatMarkup> system; ///< none: the family knows no system turn
  ChatMarkup user, assistant;
  std::optional<std::string> defaultSystem; ///< where the conversation has no system text
  std::string generationPrompt;             ///< makes the model answer
  std::string stop;                         ///< the token that ends an answer

  bool operator==(const ChatTemplate &) const = default;
};

/// Reads one template. Returns false and sets `error` (the field and the rule) where it is not one.
bool parseChatTemplate(const nlohmann::json &value, ChatTemplate *chat, std::string *error);
/// The JSON that parseChatTemplate reads.
nlohmann::json toJson(const ChatTemplate &chat);

/// In a package: {"fault": …}, what a chat is refused with, stands in the place of a template.
/// Leaves `fault` empty where the value is none. Returns false and sets `error` where it is
/// malformed.
bool parseChatFault(const nlohmann::json &value, std::string *fault, std::string *error);
nlohmann::json chatFaultToJson(const std::string &fault);

/// The template with the digest of the model file's own. Returns null and sets `error`, which says
/// what to do, where the file has no template (`sha256` is empty) or an undeclared one.
const ChatTemplate *selectChatTemplate(std::span<const ChatTemplate> chats, std::string_view sha256,
                                       std::string *error);

/// The text of a conversation, up to where the model answers, as segments for
/// Tokenizer::encodeSegments (with addSpecial false: `begin` holds all that stands first). What
/// people wrote lies in segments of its own where control tokens are plain text, so that no content
/// can end its turn. `system` absent means the template's default; empty means an empty system
/// turn. Returns false and sets `error` where a role is unknown or the family has no such turn.
bool renderChat(const ChatTemplate &chat, const std::optional<std::string> &system,
                std::span<const ChatTurn> turns, std::vector<TextSegment> *segments,
                std::string *error);

} // namespace writ
