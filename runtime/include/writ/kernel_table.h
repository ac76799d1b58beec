//===- kernel_table.h - the providers that were built ---------------------===//
//
// Generated from the kernel maps when building (scripts/generate/kernels.py). Providers are
// constants and live as long as the program; all functions are safe from any thread.
//
//===----------------------------------------------------------------------===//
#ifndef WRIT_KERNEL_TABLE_H
#define WRIT_KERNEL_TABLE_H

#include "writ/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The provider with this id, or null.
const writ_provider *writ_find_provider(const char *id);

/// All providers, ascending by id; `count` receives their number.
const writ_provider *const *writ_providers(uint32_t *count);

/// SHA-256 of the compiler and the flags that a provider's bodies were compiled with, one line for
/// each instruction set; "" for a provider that is not of the table, or a build that does not say.
const char *writ_flags_sha256(const writ_provider *provider);

#ifdef __cplusplus
}
#endif
#endif
