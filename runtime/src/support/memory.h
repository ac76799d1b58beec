//===- memory.h - memory whose size is known ------------------------------===//
//
// All memory of a session comes from these two, so that what was allocated can be summed and
// compared with what was planned.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "support/error.h"
#include "writ/units.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

namespace writ {

inline constexpr int64_t kBufferAlignment = 4096;

/// Raw bytes, aligned to kBufferAlignment, not initialised. Of size 0: a null pointer.
class AlignedBuffer {
public:
  AlignedBuffer() = default;
  /// Throws Failure(WRIT_OUT_OF_MEMORY), which names `purpose`.
  AlignedBuffer(ByteCount size, const char *purpose) : bytes(size) {
    void *memory = nullptr;
    if (size.raw() > 0 && ::posix_memalign(&memory, kBufferAlignment, size_t(size.raw())) != 0)
      fail(WRIT_OUT_OF_MEMORY, "cannot allocate {} bytes for {}", size.raw(), purpose);
    pointer.reset(static_cast<std::byte *>(memory));
  }
  std::byte *data() const { return pointer.get(); }
  ByteCount size() const { return bytes; }

private:
  struct Free {
    void operator()(std::byte *memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> pointer;
  ByteCount bytes;
};

/// An array whose length is fixed when it is made; value-initialised.
template <class T> class FixedArray {
public:
  FixedArray() = default;
  explicit FixedArray(int64_t length, const T &value = T())
      : items(std::make_unique<T[]>(size_t(length))), length(length) {
    std::fill_n(items.get(), length, value);
  }
  T &operator[](int64_t index) { return items[size_t(index)]; }
  const T &operator[](int64_t index) const { return items[size_t(index)]; }
  T *data() { return items.get(); }
  const T *data() const { return items.get(); }
  int64_t size() const { return length; }
  ByteCount bytes() const { return bytesFor(length); }
  static ByteCount bytesFor(int64_t length) { return ByteCount(length * int64_t(sizeof(T))); }

private:
  std::unique_ptr<T[]> items;
  int64_t length = 0;
};

} // namespace writ
