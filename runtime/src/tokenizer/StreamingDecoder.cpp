#include "Utf8.h"
#include "writ/tokenizer.h"

namespace writ {

std::string StreamingDecoder::push(std::string_view bytes) {
  pending.append(bytes);
  std::string out;
  size_t position = 0;
  while (position < pending.size()) {
    std::string_view rest = std::string_view(pending).substr(position);
    utf8::Sequence sequence = utf8::readSequence(rest);
    if (sequence.state == utf8::Sequence::State::incomplete)
      break;
    if (sequence.state == utf8::Sequence::State::character)
      out.append(rest.substr(0, sequence.length));
    else
      out.append(utf8::replacement);
    position += sequence.length;
  }
  pending.erase(0, position);
  return out;
}

std::string StreamingDecoder::finish() {
  bool unfinished = !pending.empty();
  pending.clear();
  return unfinished ? std::string(utf8::replacement) : std::string();
}

} // namespace writ
