//===- ModelFile.h - a model as its file gives it -------------------------===//
//
// GGUF and safetensors readers both produce a ModelFile: metadata with types, and tensors whose
// bytes lie in a read-only mapping. Nothing is interpreted here; the circuit decides what a key or
// a tensor means.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Diagnostics/Diagnostic.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace writ {

/// One storage type of the GGUF format. Rows are made of blocks; a row whose element count no block
/// divides does not exist.
struct StorageType {
  const char *name;       ///< as GGUF and MLIR write it: "q4_1", "f16", "bf16"
  uint32_t ggufId;        ///< ggml_type; noGgufId for the types that only safetensors has
  uint32_t blockElements; ///< elements of one block; 1 for scalars
  uint32_t blockBytes;    ///< bytes of one block
};

inline constexpr uint32_t noGgufId = 0xffffffff;

/// Every storage type of the GGUF format, by id. Ids that the format has removed are absent.
std::span<const StorageType> storageTypes();
/// By name; also the types that only safetensors has ("u8", "u16", "bool", "f8_e4m3" …).
const StorageType *findStorageType(std::string_view name);
const StorageType *findStorageType(uint32_t ggufId);

/// A metadata value. Arrays are homogeneous, as in GGUF.
struct MetadataValue {
  using Array = std::variant<std::vector<bool>, std::vector<int64_t>, std::vector<uint64_t>,
                             std::vector<double>, std::vector<std::string>>;
  std::variant<bool, int64_t, uint64_t, double, std::string, Array> value;
  std::string type;    ///< "u32", "f32", "string", "array<string>" …
  uint64_t offset = 0; ///< byte offset of the value in the file

  std::optional<int64_t> asInteger() const; ///< any integer type that fits
  std::optional<double> asNumber() const;   ///< any numeric type
  const std::string *asString() const;
  std::optional<bool> asBool() const;
  const std::vector<std::string> *asStrings() const;
  std::optional<std::vector<int64_t>> asIntegers() const;
  std::optional<std::vector<double>> asNumbers() const;
};

struct MetadataEntry {
  std::string key;
  MetadataValue value;
};

/// One tensor. `shape` is outermost first ([rows, columns], so the last one is contiguous), the
/// reverse of GGUF's own order.
struct TensorInfo {
  std::string name;
  const StorageType *storage = nullptr;
  std::vector<int64_t> shape;
  uint64_t fileOffset = 0; ///< of the first byte, in the file
  uint64_t bytes = 0;
};

/// An open model file. The mapping lives as long as the object.
class ModelFile {
public:
  virtual ~ModelFile() = default;

  const std::string &path() const { return filePath; }
  const std::string &format() const { return fileFormat; } ///< "gguf-v3", "safetensors"
  const std::vector<MetadataEntry> &metadata() const { return entries; }
  const std::vector<TensorInfo> &tensors() const { return infos; } ///< in file order
  const MetadataValue *find(std::string_view key) const;           ///< null where absent
  const TensorInfo *findTensor(std::string_view name) const;       ///< null where absent
  /// The tensor's bytes in the mapping. Who cuts the file off meanwhile takes them away (SIGBUS).
  virtual std::span<const std::byte> bytes(const TensorInfo &tensor) const = 0;
  /// Copies some of the tensor's bytes, `offset` from its first one on. E001 where the file has
  /// become shorter.
  virtual void read(const TensorInfo &tensor, size_t offset, std::span<std::byte> into) const;
  /// SHA-256 of the whole file. E001 as read().
  virtual std::string sha256() const = 0;
  /// E001 where the file was written to since it was opened: what was read of it may be of two
  /// files.
  virtual void requireUnchanged() const {}

protected:
  /// To be called once entries and infos are complete: find() and findTensor() search the indexes.
  void buildIndexes();

  std::string filePath, fileFormat;
  std::vector<MetadataEntry> entries;
  std::vector<TensorInfo> infos;

private:
  std::vector<uint32_t> entriesByKey, infosByName;
};

/// Opens a GGUF (v2, v3; little-endian) or a .safetensors file, by its content. Every bound is
/// checked before memory is asked for, and what is kept beside the mapping is at most a fixed
/// multiple of the file. Errors name the byte offset and the field: E020 another format, E021 the
/// file ends too early, E022 an impossible count or length, E023 a value that the format forbids,
/// E024 a duplicate key or tensor, E025 alignment, E026 shape, E027 placement of a tensor's bytes,
/// E028 storage type, E029 safetensors header. A safetensors file's metadata are its strings.
std::unique_ptr<ModelFile> openModelFile(const std::string &path);
/// The same for bytes in memory, which stay the caller's and must outlive the result. `name` is
/// what diagnostics call them.
std::unique_ptr<ModelFile> openModelBytes(std::span<const std::byte> bytes,
                                          const std::string &name);

} // namespace writ
