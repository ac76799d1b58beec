#include "writ/chat.h"
#include "TokenizerModels.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace writ {
namespace {

using nlohmann::json;

bool fail(std::string *error, std::string message) {
  if (error)
    *error = std::move(message);
  return false;
}

/// `key` of `object` as a string; null is allowed where `present` is given.
bool readString(const json &object, const char *key, const std::string &where, std::string *to,
                std::string *error, bool *present = nullptr) {
  auto found = object.find(key);
  if (found == object.end())
    return fail(error, where + ": field '" + key + "' is missing");
  if (present)
    *present = !found->is_null();
  if (present && found->is_null())
    return true;
  if (!found->is_string())
    return fail(error, where + ": field '" + key + "' is not a string");
  *to = found->get<std::string>();
  return true;
}

bool checkKeys(const json &object, std::initializer_list<std::string_view> known,
               const std::string &where, std::string *error) {
  if (!object.is_object())
    return fail(error, where + " is not an object");
  for (const auto &item : object.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      return fail(error, where + ": field '" + item.key() + "' is unknown; known are " +
                             quotedList(known));
  return true;
}

bool readMarkup(const json &turn, const char *role, const std::string &where, ChatMarkup *to,
                std::string *error) {
  std::string place = where + ", turn '" + role + "'";
  auto found = turn.find(role);
  if (found == turn.end())
    return fail(error, place + " is missing");
  return checkKeys(*found, {"prefix", "suffix"}, place, error) &&
         readString(*found, "prefix", place, &to->prefix, error) &&
         readString(*found, "suffix", place, &to->suffix, error);
}

bool isSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

json toJson(const ChatMarkup &markup) {
  return {{"prefix", markup.prefix}, {"suffix", markup.suffix}};
}

} // namespace

bool parseChatTemplate(const json &value, ChatTemplate *chat, std::string *error) {
  std::string where = "chat template";
  if (value.is_object() && value.contains("name") && value["name"].is_string())
    where += " '" + value["name"].get<std::string>() + "'";
  if (!checkKeys(value,
                 {"name", "sha256", "begin", "turn", "default_system", "generation_prompt", "stop"},
                 where, error))
    return false;
  ChatTemplate read;
  bool hasDefault = false;
  std::string defaultSystem;
  if (!readString(value, "name", where, &read.name, error) ||
      !readString(value, "sha256", where, &read.sha256, error) ||
      !readString(value, "begin", where, &read.begin, error) ||
      !readString(value, "default_system", where, &defaultSystem, error, &hasDefault) ||
      !readString(value, "generation_prompt", where, &read.generationPrompt, error) ||
      !readString(value, "stop", where, &read.stop, error))
    return false;
  if (hasDefault)
    read.defaultSystem = std::move(defaultSystem);
  if (!isSha256(read.sha256))
    return fail(error, where + ": field 'sha256' is '" + read.sha256 +
                           "', not 64 lower-case hexadecimal digits");
  auto turn = value.find("turn");
  if (turn == value.end())
    return fail(error, where + ": field 'turn' is missing");
  if (!checkKeys(*turn, {"system", "user", "assistant"}, where + ", 'turn'", error) ||
      !readMarkup(*turn, "user", where, &read.user, error) ||
      !readMarkup(*turn, "assistant", where, &read.assistant, error))
    return false;
  auto system = turn->find("system");
  if (system != turn->end() && !system->is_null()) {
    read.system.emplace();
    if (!readMarkup(*turn, "system", where, &*read.system, error))
      return false;
  }
  if (read.defaultSystem && !read.system)
    return fail(error, where + ": 'default_system' needs a 'system' turn");
  *chat = std::move(read);
  return true;
}

json toJson(const ChatTemplate &chat) {
  json turn = {{"user", toJson(chat.user)}, {"assistant", toJson(chat.assistant)}};
  turn["system"] = chat.system ? toJson(*chat.system) : json();
  return {{"name", chat.name},
          {"sha256", chat.sha256},
          {"begin", chat.begin},
          {"turn", std::move(turn)},
          {"default_system", chat.defaultSystem ? json(*chat.defaultSystem) : json()},
          {"generation_prompt", chat.generationPrompt},
          {"stop", chat.stop}};
}

bool parseChatFault(const json &value, std::string *fault, std::string *error) {
  fault->clear();
  if (!value.is_object() || !value.contains("fault"))
    return true;
  if (!checkKeys(value, {"fault"}, "chat fault", error) ||
      !readString(value, "fault", "chat fault", fault, error))
    return false;
  return !fault->empty() || fail(error, "chat fault: field 'fault' is empty");
}

json chatFaultToJson(const std::string &fault) {
  return {{"fault", fault}};
}

const ChatTemplate *selectChatTemplate(std::span<const ChatTemplate> chats, std::string_view sha256,
                                       std::string *error) {
  for (const ChatTemplate &chat : chats)
    if (chat.sha256 == sha256)
      return &chat;
  if (sha256.empty()) {
    fail(error, "the model file carries no chat template; give the whole text as a plain prompt");
    return nullptr;
  }
  std::vector<std::string_view> names;
  for (const ChatTemplate &chat : chats)
    names.push_back(chat.name);
  fail(error, "the model file's chat template (sha256 " + std::string(sha256) +
                  ") is not declared by the circuit, which knows " +
                  (names.empty() ? "none" : quotedList(names)) +
                  "; add what it writes to the circuit's \"chat_templates\" under this digest, or "
                  "give the whole text as a plain prompt");
  return nullptr;
}

bool renderChat(const ChatTemplate &chat, const std::optional<std::string> &system,
                std::span<const ChatTurn> turns, std::vector<TextSegment> *segments,
                std::string *error) {
  std::vector<TextSegment> out;
  auto put = [&](const std::string &text, bool isTemplate) {
    if (text.empty())
      return;
    if (isTemplate && !out.empty() && out.back().parseSpecial)
      out.back().text += text;
    else
      out.push_back({text, isTemplate});
  };
  auto putTurn = [&](const ChatMarkup &markup, const std::string &content) {
    put(markup.prefix, true);
    put(content, false);
    put(markup.suffix, true);
  };

  put(chat.begin, true);
  bool startsWithSystem = !turns.empty() && turns.front().role == "system";
  if (system && startsWithSystem)
    return fail(error, "a system text is given twice: by itself and as the first turn");
  if (system && !chat.system)
    return fail(error, "chat template '" + chat.name + "' has no system turn");
  if (system)
    putTurn(*chat.system, *system);
  else if (chat.defaultSystem && !turns.empty() && !startsWithSystem) {
    // The default is the template's own text.
    put(chat.system->prefix, true);
    put(*chat.defaultSystem, true);
    put(chat.system->suffix, true);
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    const ChatTurn &turn = turns[i];
    if (turn.role == "user")
      putTurn(chat.user, turn.content);
    else if (turn.role == "assistant")
      putTurn(chat.assistant, turn.content);
    else if (turn.role == "system" && chat.system)
      putTurn(*chat.system, turn.content);
    else if (turn.role == "system")
      return fail(error, "chat template '" + chat.name + "' has no system turn");
    else
      return fail(error, "turn " + std::to_string(i) + " has role '" + turn.role +
                             "'; roles are 'system', 'user', 'assistant'");
  }
  put(chat.generationPrompt, true);
  *segments = std::move(out);
  return true;
}

} // namespace writ
