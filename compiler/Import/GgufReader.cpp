//===- GgufReader.cpp - reads GGUF v2 and v3 ------------------------------===//
//
// The layout (ggml's docs/gguf.md): magic, version, tensor count, key count; the keys with typed
// values; the tensor infos; padding to the alignment; the tensors' bytes. All little-endian.
// Nothing is trusted: a count is compared with the bytes that are left, and with a fixed limit,
// before anything is allocated by it. So no file, of whatever size, makes the reader ask for more
// than the bytes of its strings and a gigabyte.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/GgufBytes.h"

#include <algorithm>

namespace writ {
namespace {

constexpr uint64_t mostEntries = 1ull << 20;    ///< keys, and tensors
constexpr uint64_t largestAlignment = 1u << 20; ///< 1 MiB; what is usual is 32
constexpr uint64_t smallestAlignment = 8;       ///< the format wants a multiple of 8

uint32_t readVersion(GgufBytes &in) {
  in.position = 4; // the magic has been seen
  auto version = in.read<uint32_t>("version");
  uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 3)
    in.refuse("E020",
              fmt::format("a big-endian GGUF v{} file; Writ reads little-endian files", swapped), 4,
              "version");
  if (version == 1)
    in.refuse("E020", "a GGUF v1 file; convert it to v3", 4, "version");
  if (version != 2 && version != 3)
    in.refuse("E020", fmt::format("GGUF version {}; Writ reads 2 and 3", version), 4, "version");
  return version;
}

uint64_t readCount(GgufBytes &in, const char *field, uint64_t leastBytes) {
  auto count = in.read<uint64_t>(field);
  if (count > in.left() / leastBytes)
    in.refuse(
        "E022",
        fmt::format("a count of {} does not fit into the {} bytes that are left (each takes {} "
                    "or more)",
                    count, in.left(), leastBytes),
        in.position - sizeof(count), field);
  if (count > mostEntries)
    in.refuse("E022", fmt::format("a count of {}, at most {} are read", count, mostEntries),
              in.position - sizeof(count), field);
  return count;
}

uint64_t readAlignment(const GgufBytes &in, const std::vector<MetadataEntry> &entries) {
  constexpr uint64_t usual = 32;
  auto entry = std::find_if(entries.begin(), entries.end(),
                            [](const auto &e) { return e.key == "general.alignment"; });
  if (entry == entries.end())
    return usual;
  std::string field = fmt::format("metadata_kv[{}].value", entry - entries.begin());
  const MetadataValue &value = entry->value;
  if (value.type != "u32")
    in.refuse("E025", fmt::format("general.alignment is of type {}, must be u32", value.type),
              value.offset, field);
  uint64_t alignment = std::get<uint64_t>(value.value);
  if (!std::has_single_bit(alignment) || alignment < smallestAlignment ||
      alignment > largestAlignment)
    in.refuse("E025",
              fmt::format("general.alignment is {}, must be a power of two from {} to {}",
                          alignment, smallestAlignment, largestAlignment),
              value.offset, field);
  return alignment;
}

} // namespace

ModelContents readGguf(std::span<const std::byte> bytes, const std::string &path) {
  GgufBytes in(bytes, path);
  ModelContents contents;
  contents.format = fmt::format("gguf-v{}", readVersion(in));
  const uint64_t tensorCount = readCount(in, "tensor_count", kLeastGgufTensor);
  const uint64_t entryCount = readCount(in, "metadata_kv_count", kLeastGgufEntry);
  contents.entries = readGgufMetadata(in, entryCount);
  contents.infos = readGgufTensors(in, tensorCount, readAlignment(in, contents.entries));
  return contents;
}

} // namespace writ
