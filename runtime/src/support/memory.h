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

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace writ {

inline constexpr int64_t kBufferAlignment = 4096;
/// What the system may give in place of 4 KiB at a time, where it is asked to.
inline constexpr int64_t kLargePage = int64_t(2) << 20;

/// Raw bytes, aligned to kBufferAlignment, not initialised. Of size 0: a null pointer. The large
/// pages that lie in it whole are asked for as such: it never takes more memory than its size.
class AlignedBuffer {
public:
  AlignedBuffer() = default;
  /// Throws Failure(WRIT_OUT_OF_MEMORY), which names `purpose`.
  AlignedBuffer(ByteCount size, const char *purpose) : bytes(size) {
    void *memory = nullptr;
    const int64_t large = size.raw() / kLargePage * kLargePage;
    if (size.raw() > 0 &&
        ::posix_memalign(&memory, size_t(large > 0 ? kLargePage : kBufferAlignment),
                         size_t(size.raw())) != 0)
      fail(WRIT_OUT_OF_MEMORY, "cannot allocate {} bytes for {}", size.raw(), purpose);
#if defined(__linux__)
    if (large > 0)
      ::madvise(memory, size_t(large), MADV_HUGEPAGE); // a system that has none goes on without
#endif
    pointer.reset(static_cast<std::byte *>(memory));
  }
  std::byte *data() const {
    return pointer.get();
  }
  ByteCount size() const {
    return bytes;
  }

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
