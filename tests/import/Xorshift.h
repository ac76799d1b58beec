//===- Xorshift.h - the same mutations on every machine -------------------===//
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace writ::test {

/// xorshift64* (Vigna 2016). The standard library's distributions differ between vendors.
class Xorshift {
public:
  explicit Xorshift(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15 + 1) {}

  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1d;
  }
  uint64_t below(uint64_t limit) { return (next() >> 11) % limit; }

  /// `good` with one to four mistakes of the kinds that files have, most in the first `header`
  /// bytes: bits and bytes changed, integers replaced by extreme ones, bytes cut out, repeated or
  /// cut off.
  std::string mutate(std::string bytes, size_t header) {
    for (uint64_t count = 1 + below(4); count != 0 && !bytes.empty(); --count) {
      size_t limit = below(8) == 0 || header > bytes.size() ? bytes.size() : header;
      size_t at = below(limit);
      switch (below(7)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        replace(bytes, at, extreme(), 8);
        break;
      case 3:
        replace(bytes, at, extreme(), 4);
        break;
      case 4:
        bytes.erase(at, 1 + below(16));
        break;
      case 5:
        bytes.insert(at, bytes.substr(at, 1 + below(16)));
        break;
      default:
        bytes.resize(at);
      }
    }
    return bytes;
  }

private:
  uint64_t extreme() {
    constexpr uint64_t values[] = {0,          1,          2,          3,          7,
                                   0x7f,       0xff,       0x7fffffff, 0xffffffff, 1ull << 30,
                                   1ull << 31, 1ull << 32, 1ull << 62, 1ull << 63, ~0ull};
    return values[below(sizeof(values) / sizeof(*values))] + (below(4) == 0 ? below(64) : 0);
  }

  static void replace(std::string &bytes, size_t at, uint64_t value, size_t size) {
    size_t left = bytes.size() - at;
    std::memcpy(bytes.data() + at, &value, left < size ? left : size);
  }

  uint64_t state;
};

} // namespace writ::test
