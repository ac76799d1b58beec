//===- GgufTensors.cpp - the tensor infos of a GGUF file ------------------===//
#include "compiler/Import/GgufBytes.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace writ {
namespace {

constexpr uint32_t mostDimensions = 4;

/// Ids that the format once gave out.
const char *removedType(uint32_t id) {
  switch (id) {
  case 4:
    return "Q4_2";
  case 5:
    return "Q4_3";
  case 31:
    return "Q4_0_4_4";
  case 32:
    return "Q4_0_4_8";
  case 33:
    return "Q4_0_8_8";
  case 36:
    return "IQ4_NL_4_4";
  case 37:
    return "IQ4_NL_4_8";
  case 38:
    return "IQ4_NL_8_8";
  default:
    return nullptr;
  }
}

class TensorReader {
public:
  TensorReader(GgufBytes &in, uint64_t alignment) : in(in), alignment(alignment) {}

  std::vector<TensorInfo> run(uint64_t tensorCount) {
    readInfos(tensorCount);
    placeTensors();
    return std::move(infos);
  }

private:
  void readInfos(uint64_t tensorCount) {
    in.section = "tensor_infos";
    std::unordered_map<std::string_view, uint64_t> seen;
    for (in.index = 0; in.index < tensorCount; ++in.index) {
      uint64_t start = in.position;
      std::string_view name = in.readName("name");
      auto [first, isNew] = seen.emplace(name, in.index);
      if (!isNew)
        in.refuse("E024",
                  fmt::format("tensor '{}' occurs twice, first as tensor_infos[{}]",
                              printable(name), first->second),
                  start, in.fieldName("name"));
      TensorInfo info;
      info.name = name;
      readShape(info);
      readStorage(info);
      info.fileOffset = in.read<uint64_t>("offset"); // of the data section, until it is placed
      offsetFields.push_back(in.position - sizeof(uint64_t));
      infos.push_back(std::move(info));
    }
    in.section = nullptr;
  }

  void readShape(TensorInfo &info) {
    auto dimensions = in.read<uint32_t>("n_dims");
    if (dimensions < 1 || dimensions > mostDimensions)
      in.refuse("E026",
                fmt::format("tensor '{}' has {} dimensions, must have 1 to {}",
                            printable(info.name), dimensions, mostDimensions),
                in.position - sizeof(uint32_t), in.fieldName("n_dims"));
    int64_t elements = 1;
    for (uint32_t i = 0; i < dimensions; ++i) {
      auto extent = in.read<uint64_t>("dims", i);
      if (extent == 0 || extent > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        in.refuse("E026",
                  fmt::format("tensor '{}' has a dimension of {}, must be 1 to 2^63 - 1",
                              printable(info.name), extent),
                  in.position - sizeof(extent), in.fieldName("dims", i));
      info.shape.push_back(static_cast<int64_t>(extent));
      if (__builtin_mul_overflow(elements, static_cast<int64_t>(extent), &elements))
        in.refuse("E026",
                  fmt::format("tensor '{}' has more than 2^63 - 1 elements", printable(info.name)),
                  in.position - sizeof(extent), in.fieldName("dims", i));
    }
    // The file has the contiguous dimension first.
    std::reverse(info.shape.begin(), info.shape.end());
  }

  void readStorage(TensorInfo &info) {
    auto id = in.read<uint32_t>("type");
    uint64_t start = in.position - sizeof(id);
    info.storage = findStorageType(id);
    if (!info.storage) {
      const char *removed = removedType(id);
      in.refuse(
          "E028",
          removed
              ? fmt::format("tensor '{}' has storage type {} ({}), which the format has removed",
                            printable(info.name), id, removed)
              : fmt::format("tensor '{}' has unknown storage type {}", printable(info.name), id),
          start, in.fieldName("type"));
    }
    int64_t columns = info.shape.back();
    if (columns % info.storage->blockElements != 0)
      in.refuse("E026",
                fmt::format(
                    "tensor '{}' has rows of {} elements, which blocks of {} ({}) do not divide",
                    printable(info.name), columns, info.storage->blockElements, info.storage->name),
                start, in.fieldName("type"));
    int64_t size = info.storage->blockBytes;
    int64_t padded = 0;
    bool overflow = __builtin_mul_overflow(size, columns / info.storage->blockElements, &size);
    for (size_t i = 0; i + 1 < info.shape.size(); ++i)
      overflow = overflow || __builtin_mul_overflow(size, info.shape[i], &size);
    if (overflow || __builtin_add_overflow(size, static_cast<int64_t>(alignment - 1), &padded))
      in.refuse("E026",
                fmt::format("tensor '{}' takes more than 2^63 - 1 bytes", printable(info.name)),
                start, in.fieldName("type"));
    info.bytes = static_cast<uint64_t>(size);
  }

  /// Turns offsets in the data section into offsets in the file, and checks where the bytes lie.
  void placeTensors() {
    in.section = "tensor_infos";
    uint64_t start = (in.position + alignment - 1) / alignment * alignment;
    uint64_t available = in.size() > start ? in.size() - start : 0;
    for (in.index = 0; in.index < infos.size(); ++in.index) {
      TensorInfo &info = infos[in.index];
      if (info.fileOffset % alignment != 0)
        in.refuse("E027",
                  fmt::format("tensor '{}' has offset {}, which the alignment {} does not divide",
                              printable(info.name), info.fileOffset, alignment),
                  offsetFields[in.index], in.fieldName("offset"));
      if (info.fileOffset > available || info.bytes > available - info.fileOffset)
        in.refuse(
            "E027",
            fmt::format("tensor '{}' has {} bytes at offset {} of the data section, which has {}",
                        printable(info.name), info.bytes, info.fileOffset, available),
            offsetFields[in.index], in.fieldName("offset"));
      info.fileOffset += start;
    }
    refuseOverlaps();
  }

  void refuseOverlaps() {
    std::vector<uint32_t> order(infos.size());
    for (uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(infos[a].fileOffset, a) < std::pair(infos[b].fileOffset, b);
    });
    for (size_t i = 1; i < order.size(); ++i) {
      const TensorInfo &before = infos[order[i - 1]], &info = infos[order[i]];
      in.index = order[i];
      if (info.fileOffset < before.fileOffset + before.bytes)
        in.refuse("E027",
                  fmt::format("tensors '{}' and '{}' overlap", printable(before.name),
                              printable(info.name)),
                  offsetFields[in.index], in.fieldName("offset"));
    }
  }

  GgufBytes &in;
  const uint64_t alignment;
  std::vector<TensorInfo> infos;
  std::vector<uint64_t> offsetFields; ///< where each tensor's offset stands in the file
};

} // namespace

std::vector<TensorInfo> readGgufTensors(GgufBytes &in, uint64_t count, uint64_t alignment) {
  return TensorReader(in, alignment).run(count);
}

} // namespace writ
