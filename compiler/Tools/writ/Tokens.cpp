#include "compiler/Tools/writ/Tokens.h"

#include <random>

namespace writ::tool {

std::vector<int32_t> someTokens(int64_t vocabulary, int32_t bos, int64_t count) {
  std::minstd_rand random; // the standard fixes its numbers
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t &id : ids)
    id = int32_t(int64_t(random()) % vocabulary);
  if (count && bos >= 0)
    ids.front() = bos;
  return ids;
}

} // namespace writ::tool
