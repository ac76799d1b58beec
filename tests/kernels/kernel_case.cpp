#include "tests/kernels/kernel_case.h"

#include "writ/packed_layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace writ::test {
namespace {

constexpr size_t kGuard = 128;
constexpr std::byte kPoison{0xA5};

template <typename T>
void canonical(Bytes &bytes, size_t from, size_t to, T magnitude, T infinity, T quiet) {
  for (size_t at = from; at + sizeof(T) <= to; at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    if ((value & magnitude) > infinity)
      std::memcpy(bytes.data() + at, &quiet, sizeof(T));
  }
}

/// NaN payloads and signs are no part of a result.
void canonicalNaN(Output &output, Bytes &bytes) {
  const auto floats = [&](size_t from, size_t to) {
    canonical<uint32_t>(bytes, from, to, 0x7fffffffu, 0x7f800000u, 0x7fc00000u);
  };
  if (output.storage == "f32")
    floats(0, bytes.size());
  else if (output.storage == "f16")
    canonical<uint16_t>(bytes, 0, bytes.size(), 0x7fff, 0x7c00, 0x7e00);
  else if (output.storage == "bf16")
    canonical<uint16_t>(bytes, 0, bytes.size(), 0x7fff, 0x7f80, 0x7fc0);
  for (const ActivationCodes *codes : kActivationCodes)
    if (output.storage == codes->storage)
      for (size_t row = 0, stride = static_cast<size_t>(codes->rowBytes(output.k));
           row + stride <= bytes.size(); row += stride)
        floats(row + static_cast<size_t>(codes->scales(output.k)),
               row + static_cast<size_t>(codes->sums(output.k)));
}

} // namespace

std::vector<uint64_t> KernelCase::arguments() {
  for (auto &[name, output] : outputs) {
    output.bytes = output.start;
    output.bytes.resize(output.start.size() + kGuard, kPoison);
  }
  if (outputs.contains("k_plane")) {
    kv.k_plane = outputs["k_plane"].bytes.data();
    kv.v_plane = outputs["v_plane"].bytes.data();
  }
  std::vector<uint64_t> slots;
  for (const auto &argument : map.at("arguments")) {
    const std::string bind = argument.at("bind"), type = argument.at("type");
    uint64_t slot = 0;
    const void *pointer = nullptr;
    if (type == "i64") {
      slot = static_cast<uint64_t>(integers.at(bind));
    } else if (type == "f32") {
      std::memcpy(&slot, &floats.at(bind), sizeof(float));
    } else {
      if (bind == "kv.view")
        pointer = &kv;
      else if (outputs.contains(bind))
        pointer = outputs[bind].bytes.data();
      else if (inputs.contains(bind))
        pointer = inputs[bind].data();
      std::memcpy(&slot, &pointer, sizeof(pointer));
    }
    slots.push_back(slot);
  }
  return slots;
}

int64_t KernelCase::units() const {
  int64_t extent = 1;
  for (const std::string name : map.at("threading").at("extent"))
    for (const auto &argument : map.at("arguments"))
      if (argument.at("name") == name)
        extent *= integers.at(argument.at("bind"));
  const int64_t grain = map.at("threading").at("grain");
  return (extent + grain - 1) / grain;
}

std::map<std::string, Bytes> run(KernelCase &test, writ_body body, int pieces, Random &random) {
  const std::vector<uint64_t> slots = test.arguments();
  const int64_t units = test.units();
  std::vector<int64_t> cuts{0, units};
  for (int i = 1; i < pieces; ++i)
    cuts.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(units + 1)));
  std::sort(cuts.begin(), cuts.end());
  std::vector<size_t> order;
  for (size_t i = 0; i + 1 < cuts.size(); ++i)
    order.push_back(i);
  std::shuffle(order.begin(), order.end(), random);
  for (const size_t i : order)
    body(slots.data(), cuts[i], cuts[i + 1]);

  std::map<std::string, Bytes> results;
  for (auto &[name, output] : test.outputs) {
    for (size_t i = output.start.size(); i < output.bytes.size(); ++i)
      if (output.bytes[i] != kPoison)
        throw std::runtime_error("written beyond the end of " + name);
    Bytes result(output.bytes.begin(),
                 output.bytes.begin() + static_cast<ptrdiff_t>(output.start.size()));
    canonicalNaN(output, result);
    results[name] = std::move(result);
  }
  return results;
}

nlohmann::json readMap(const std::string &providerId) {
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(WRIT_SOURCE_DIR "/kernel_maps"))
    if (entry.path().filename() == providerId + ".json")
      return nlohmann::json::parse(std::ifstream(entry.path()));
  throw std::runtime_error("no map of " + providerId);
}

std::vector<std::string> providerIds() {
  uint32_t count;
  const writ_provider *const *providers = writ_providers(&count);
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < count; ++i)
    ids.push_back(providers[i]->id);
  return ids;
}

} // namespace writ::test
