#include "counting_malloc.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<int64_t> allocationCount{0};
std::atomic<int64_t> byteCount{0};
void note(size_t bytes) {
  allocationCount.fetch_add(1, std::memory_order_relaxed);
  byteCount.fetch_add(int64_t(bytes), std::memory_order_relaxed);
}
} // namespace

int64_t counting::allocations() {
  return allocationCount.load();
}
int64_t counting::bytes() {
  return byteCount.load();
}

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t bytes) {
  note(bytes);
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  note(count * bytes);
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
  note(bytes);
  return __libc_realloc(memory, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  note(bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void *memory) {
  __libc_free(memory);
}
}
