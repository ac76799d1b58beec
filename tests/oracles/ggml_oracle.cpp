// Asks ggml's CPU backend what one op gives: the op alone, on inputs from a file, by ggml's public
// interface.
//
// This program is an independent oracle. It shares nothing with the project's own code, links
// libggml alone and is built by scripts/setup-oracles outside the source tree, against a build of
// ggml whose bits do not depend on the machine.
//
//   ggml-oracle run CASES.json IN.bin OUT.bin   writes the results one after the other, each at a
//                                               multiple of 64 bytes, and on standard output a JSON
//                                               array of {"type", "shape", "offset", "bytes"}
//   ggml-oracle version                         ggml's version, the compiler, and the instruction
//                                               sets that the build uses
//
// CASES.json is an array of cases; shapes are written with the contiguous dimension last:
//
//   {"op": "mul_mat", "threads": 1,
//    "inputs": [{"type": "q4_K", "shape": [64, 256], "offset": 0},
//               {"type": "f32", "shape": [3, 256], "offset": 9216}],
//    "parameters": {"eps": 1e-6}}
//
// op            inputs                        parameters
// mul_mat       weight [n, k], x [rows, k]    -> f32 [rows, n]
// quantize      x [rows, k]                   to: a type; by the CPU backend's from_float
// cast          x                             to: a type
// get_rows      weight [rows, n], i32 [m]     -> f32 [m, n]
// get_rows_scale  the same                    s: of what get_rows gives
// rms_norm, norm, l2_norm                     eps
// rms_norm_mul  x, weight                     eps; the two ops that the backend fuses
// rope          x [rows, heads, dim], position i32 [rows], frequency factors (may be absent)
//                                             n_dims, mode, n_ctx_orig, freq_base, freq_scale,
//                                             ext_factor, attn_factor, beta_fast, beta_slow
// soft_max      x, mask f16 or f32 (may be absent)         scale, max_bias
// attention     q f32 [heads, rows, dim], k f16 [kv_heads, kv, dim], v f16 [kv_heads, dim, kv],
//               mask f32 [rows, kv] (may be absent)
//                                             scale, and query_scale (1), which is ggml_scale of q;
//                                             products and soft_max, not flash attention
// flash_attn    q f32 [heads, rows, dim], k and v f16 [kv_heads, kv, dim], mask f16 [rows, kv]
//                                             scale, max_bias, logit_softcap
// silu gelu gelu_quick tanh sigmoid exp log sqrt sin cos    x
// swiglu, geglu  gate, up
// add, mul       a, b                         b is repeated
// scale          x                            s
//
// The tiled matrix product of K-quants, which takes over from 8 rows on with sums in another order,
// is off: `--tiled` turns it on. Exit status: 0 done, 1 failed, 2 wrong usage.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ggml-cpu.h>
#include <ggml.h>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::json;
using Tensor = ggml_tensor *;
using Tensors = std::vector<Tensor>;

constexpr int kUsageError = 2;
constexpr size_t kAlignment = 64;

struct FreeContext {
  void operator()(ggml_context *context) const { ggml_free(context); }
};
using Context = std::unique_ptr<ggml_context, FreeContext>;

std::vector<char> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

ggml_type typeOf(const std::string &name) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const auto type = static_cast<ggml_type>(i);
    const char *candidate = ggml_type_name(type);
    if (candidate && name == candidate)
      return type;
  }
  throw std::runtime_error("'" + name + "' is not a type of ggml");
}

Tensor newTensor(ggml_context *context, ggml_type type, const std::vector<int64_t> &shape) {
  if (shape.empty() || shape.size() > GGML_MAX_DIMS)
    throw std::runtime_error("a shape has 1 to 4 dimensions");
  const std::vector<int64_t> extents(shape.rbegin(), shape.rend()); // ggml's first is contiguous
  if (extents[0] % ggml_blck_size(type) != 0)
    throw std::runtime_error("a row does not fill the blocks of its type");
  return ggml_new_tensor(context, type, static_cast<int>(extents.size()), extents.data());
}

/// One case's op over its inputs. `number` reads a parameter.
struct Op {
  ggml_context *context;
  const Tensors &in;
  const Json &parameters;

  float number(const char *name, float otherwise) const {
    return parameters.value(name, otherwise);
  }
  int integer(const char *name, int otherwise) const { return parameters.value(name, otherwise); }
  float required(const char *name) const { return parameters.at(name).get<float>(); }
  Tensor input(size_t index) const {
    if (index >= in.size())
      throw std::runtime_error("input " + std::to_string(index) + " is missing");
    return in[index];
  }
  Tensor optional(size_t index) const { return index < in.size() ? in[index] : nullptr; }
};

Tensor quantized(const Op &op) {
  Tensor x = op.input(0);
  const ggml_type type = typeOf(op.parameters.at("to"));
  const ggml_from_float_t fromFloat = ggml_get_type_traits_cpu(type)->from_float;
  if (!fromFloat || x->type != GGML_TYPE_F32 || x->ne[0] % ggml_blck_size(type) != 0)
    throw std::runtime_error("quantize needs f32 rows that fill the blocks of its type");
  Tensor out = ggml_new_tensor(op.context, type, GGML_MAX_DIMS, x->ne);
  std::memset(out->data, 0,
              ggml_nbytes(out)); // q8_K leaves the sums of a block of zeros as they are
  for (int64_t row = 0; row < ggml_nrows(x); ++row)
    fromFloat(reinterpret_cast<const float *>(static_cast<char *>(x->data) + row * x->nb[1]),
              static_cast<char *>(out->data) + row * out->nb[1], x->ne[0]);
  return out;
}

Tensor rope(const Op &op) {
  Tensor x = op.input(0);
  return ggml_rope_ext(
      op.context, x, op.input(1), op.optional(2), op.integer("n_dims", static_cast<int>(x->ne[0])),
      op.integer("mode", 0), op.integer("n_ctx_orig", 0), op.number("freq_base", 10000),
      op.number("freq_scale", 1), op.number("ext_factor", 0), op.number("attn_factor", 1),
      op.number("beta_fast", 32), op.number("beta_slow", 1));
}

const std::map<std::string, std::function<Tensor(const Op &)>> &ops() {
  using O = const Op &;
  static const std::map<std::string, std::function<Tensor(O)>> table = {
      {"mul_mat", [](O o) { return ggml_mul_mat(o.context, o.input(0), o.input(1)); }},
      {"quantize", quantized},
      {"cast", [](O o) { return ggml_cast(o.context, o.input(0), typeOf(o.parameters.at("to"))); }},
      {"get_rows", [](O o) { return ggml_get_rows(o.context, o.input(0), o.input(1)); }},
      {"get_rows_scale",
       [](O o) {
         return ggml_scale(o.context, ggml_get_rows(o.context, o.input(0), o.input(1)),
                           o.required("s"));
       }},
      {"rms_norm", [](O o) { return ggml_rms_norm(o.context, o.input(0), o.required("eps")); }},
      {"rms_norm_mul",
       [](O o) {
         Tensor norm = ggml_rms_norm(o.context, o.input(0), o.required("eps"));
         return ggml_mul(o.context, norm, o.input(1));
       }},
      {"norm", [](O o) { return ggml_norm(o.context, o.input(0), o.required("eps")); }},
      {"l2_norm", [](O o) { return ggml_l2_norm(o.context, o.input(0), o.required("eps")); }},
      {"rope", rope},
      {"soft_max",
       [](O o) {
         return ggml_soft_max_ext(o.context, o.input(0), o.optional(1), o.number("scale", 1),
                                  o.number("max_bias", 0));
       }},
      {"attention",
       [](O o) {
         const float queryScale = o.number("query_scale", 1);
         Tensor query =
             queryScale == 1 ? o.input(0) : ggml_scale(o.context, o.input(0), queryScale);
         Tensor scores = ggml_mul_mat(o.context, o.input(1), query);
         Tensor weights =
             ggml_soft_max_ext(o.context, scores, o.optional(3), o.required("scale"), 0);
         return ggml_mul_mat(o.context, o.input(2), weights);
       }},
      {"flash_attn",
       [](O o) {
         return ggml_flash_attn_ext(o.context, o.input(0), o.input(1), o.input(2), o.optional(3),
                                    o.required("scale"), o.number("max_bias", 0),
                                    o.number("logit_softcap", 0));
       }},
      {"silu", [](O o) { return ggml_silu(o.context, o.input(0)); }},
      {"gelu", [](O o) { return ggml_gelu(o.context, o.input(0)); }},
      {"gelu_quick", [](O o) { return ggml_gelu_quick(o.context, o.input(0)); }},
      {"tanh", [](O o) { return ggml_tanh(o.context, o.input(0)); }},
      {"sigmoid", [](O o) { return ggml_sigmoid(o.context, o.input(0)); }},
      {"exp", [](O o) { return ggml_exp(o.context, o.input(0)); }},
      {"log", [](O o) { return ggml_log(o.context, o.input(0)); }},
      {"sqrt", [](O o) { return ggml_sqrt(o.context, o.input(0)); }},
      {"sin", [](O o) { return ggml_sin(o.context, o.input(0)); }},
      {"cos", [](O o) { return ggml_cos(o.context, o.input(0)); }},
      {"swiglu", [](O o) { return ggml_swiglu_split(o.context, o.input(0), o.input(1)); }},
      {"geglu", [](O o) { return ggml_geglu_split(o.context, o.input(0), o.input(1)); }},
      {"add", [](O o) { return ggml_add(o.context, o.input(0), o.input(1)); }},
      {"mul", [](O o) { return ggml_mul(o.context, o.input(0), o.input(1)); }},
      {"scale", [](O o) { return ggml_scale(o.context, o.input(0), o.required("s")); }},
  };
  return table;
}

struct Result {
  std::string type;
  std::vector<int64_t> shape;
  std::vector<char> bytes;
};

Tensor readInput(ggml_context *context, const Json &description, const std::vector<char> &data) {
  Tensor tensor = newTensor(context, typeOf(description.at("type")),
                            description.at("shape").get<std::vector<int64_t>>());
  const auto offset = description.at("offset").get<size_t>();
  const size_t bytes = ggml_nbytes(tensor);
  if (offset > data.size() || bytes > data.size() - offset)
    throw std::runtime_error("an input ends beyond its file");
  std::memcpy(tensor->data, data.data() + offset, bytes);
  return tensor;
}

/// Memory that every case of the inputs' size fits into: results, work buffers, graph.
size_t contextBytes(const Json &one, const std::vector<char> &data) {
  constexpr size_t base = size_t(256) << 20;
  size_t rows = 1, columns = 1; // of a matrix product
  if (one.at("op") == "mul_mat") {
    columns = one.at("inputs").at(0).at("shape").at(0);
    rows = one.at("inputs").at(1).at("shape").at(0);
  }
  return base + 8 * data.size() + 4 * rows * columns;
}

Result evaluate(const Json &one, const std::vector<char> &data) {
  const Context context(ggml_init({contextBytes(one, data), nullptr, false}));
  if (!context)
    throw std::runtime_error("ggml gives no context");
  Tensors inputs;
  for (const Json &description : one.at("inputs"))
    inputs.push_back(readInput(context.get(), description, data));
  const std::string name = one.at("op");
  const auto op = ops().find(name);
  if (op == ops().end())
    throw std::runtime_error("'" + name + "' is not an op of this program");
  Tensor out = op->second(Op{context.get(), inputs, one.value("parameters", Json::object())});
  ggml_cgraph *graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, out);
  if (ggml_graph_compute_with_ctx(context.get(), graph, one.value("threads", 1)) !=
      GGML_STATUS_SUCCESS)
    throw std::runtime_error("ggml does not compute '" + name + "'");
  Result result;
  result.type = ggml_type_name(out->type);
  result.shape.assign(out->ne, out->ne + ggml_n_dims(out));
  std::reverse(result.shape.begin(), result.shape.end());
  if (!ggml_is_contiguous(out))
    throw std::runtime_error("the result of '" + name + "' has gaps");
  const char *bytes = static_cast<const char *>(out->data);
  result.bytes.assign(bytes, bytes + ggml_nbytes(out));
  return result;
}

void run(const std::string &casesPath, const std::string &inPath, const std::string &outPath) {
  const std::vector<char> text = readFile(casesPath), data = readFile(inPath);
  const Json cases = Json::parse(text.begin(), text.end());
  std::ofstream out(outPath, std::ios::binary);
  Json table = Json::array();
  size_t offset = 0;
  for (const Json &one : cases) {
    const Result result = evaluate(one, data);
    table.push_back({{"type", result.type},
                     {"shape", result.shape},
                     {"offset", offset},
                     {"bytes", result.bytes.size()}});
    out.write(result.bytes.data(), static_cast<std::streamsize>(result.bytes.size()));
    offset += result.bytes.size();
    for (; offset % kAlignment != 0; ++offset)
      out.put(0);
  }
  out.flush();
  if (!out)
    throw std::runtime_error("cannot write " + outPath);
  std::cout << table.dump(1) << '\n';
}

Json version() {
  return {{"ggml", ggml_version()},
          {"compiler", __VERSION__}, // the set-up takes the same for both
          {"avx2", ggml_cpu_has_avx2() != 0},
          {"avx512", ggml_cpu_has_avx512() != 0},
          {"avx512_vnni", ggml_cpu_has_avx512_vnni() != 0},
          {"avx_vnni", ggml_cpu_has_avx_vnni() != 0},
          {"f16c", ggml_cpu_has_f16c() != 0},
          {"fma", ggml_cpu_has_fma() != 0},
          {"llamafile", ggml_cpu_has_llamafile() != 0}};
}

int usage() {
  std::cerr << "usage: ggml-oracle run CASES.json IN.bin OUT.bin [--tiled]\n"
               "       ggml-oracle version\n";
  return kUsageError;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto tiled = std::find(arguments.begin(), arguments.end(), "--tiled");
  const bool isTiled = tiled != arguments.end();
  if (isTiled)
    arguments.erase(tiled);
  setenv("GGML_CPU_TILED_MM", isTiled ? "1" : "0", 1);
  try {
    if (arguments.size() == 1 && arguments[0] == "version") {
      std::cout << version().dump() << '\n';
      return 0;
    }
    if (arguments.size() != 4 || arguments[0] != "run")
      return usage();
    ggml_cpu_init();
    run(arguments[1], arguments[2], arguments[3]);
    return 0;
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
