//===- struct_size.h - option and result structs of other versions --------===//
//
// A caller compiled against another version of writ.h passes a shorter or longer struct; its first
// member says how long.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "support/error.h"

#include <cstring>

namespace writ {

/// Whether sizeof can give it for a version of T. Members of 8 bytes lie at multiples of 8, so that
/// such a size cuts none.
template <class T> bool isStructSize(size_t size) {
  static_assert(alignof(T) == sizeof(size_t));
  return size >= sizeof(size_t) && size <= 65536 && size % alignof(T) == 0;
}

/// The caller's options over the defaults that `initialise` sets. Null means the defaults. Refuses
/// a size that cannot be, and a newer struct that uses what this library does not know.
template <class T>
writ_status readOptions(const T *given, void (*initialise)(T *), const char *name, T *out,
                        writ_error *error) {
  initialise(out);
  if (!given)
    return WRIT_OK;
  const size_t size = given->struct_size;
  if (!isStructSize<T>(size))
    return report(error, WRIT_INVALID_ARGUMENT,
                  "{}.struct_size is {}; set it with {}_init() or to sizeof({})", name, size, name,
                  name);
  const auto *bytes = reinterpret_cast<const unsigned char *>(given);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      return report(error, WRIT_INVALID_ARGUMENT,
                    "{} has {} bytes and a value at byte {}; this library knows {} bytes of it",
                    name, size, i, sizeof(T));
  std::memcpy(static_cast<void *>(out), given, std::min(size, sizeof(T)));
  out->struct_size = sizeof(T);
  if constexpr (requires { out->reserved; })
    if (out->reserved != 0)
      return report(error, WRIT_INVALID_ARGUMENT, "{}.reserved is {}, expected 0", name,
                    out->reserved);
  return WRIT_OK;
}

/// Fills the caller's result struct as far as it knows it; its struct_size stays.
template <class T>
writ_status writeResult(const T &value, const char *name, T *out, writ_error *error) {
  if (!out)
    return report(error, WRIT_INVALID_ARGUMENT, "{} is null", name);
  const size_t size = out->struct_size;
  if (!isStructSize<T>(size))
    return report(error, WRIT_INVALID_ARGUMENT, "{}.struct_size is {}; set it to sizeof({})", name,
                  size, name);
  auto *bytes = reinterpret_cast<unsigned char *>(out);
  std::memcpy(bytes + sizeof(size_t),
              reinterpret_cast<const unsigned char *>(&value) + sizeof(size_t),
              std::min(size, sizeof(T)) - sizeof(size_t));
  if (size > sizeof(T))
    std::memset(bytes + sizeof(T), 0, size - sizeof(T));
  return WRIT_OK;
}

} // namespace writ
