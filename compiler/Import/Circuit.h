//===- Circuit.h - a circuit instantiated for one model file --------------===//
//
// A circuit describes a family of models by data. Instantiating it for a model file reads the
// parameters from the metadata, unrolls the layers, and binds every weight: what is left is a flat
// list of ops with sizes, before any contract or provider is chosen.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Import/ModelFile.h"
#include "compiler/Resolve/Catalog.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace writ {

/// A weight of an op: a tensor of the file, or a constant that is computed when compiling.
struct InstanceWeight {
  std::string tensor;           ///< name in the file or of the constant
  std::string storage;          ///< its storage type
  std::vector<int64_t> shape;   ///< [n, k] or [n]
  std::vector<double> constant; ///< f64 values where it is not a tensor of the file
};

/// One op of the unrolled circuit. Operand, dimension, attribute and number names are the family's.
struct InstanceOp {
  std::string op;     ///< family: "linear"
  std::string name;   ///< "blk.3.attn_q"; unique
  std::string kind;   ///< the section it comes from, and its variant: "prologue", "layer_local"
  int64_t layer = -1; ///< index where kind repeats
  Location location;
  std::map<std::string, std::string> inputs;     ///< operand → name of the op that makes it
  std::map<std::string, InstanceWeight> weights; ///< operand → weight
  std::map<std::string, int64_t> dimensions;     ///< all but "rows"
  std::map<std::string, std::string> attributes;
  std::map<std::string, double> numbers;        ///< exact binary32 where the family takes f32
  std::map<std::string, std::string> contracts; ///< phase → "profile" or an id
  int64_t kvGroup = -1, kvLayer = -1;           ///< of ops that use the KV state
};

/// The numbers and operands that an op gives.
std::set<std::string> givenNames(const InstanceOp &op);

struct InstanceKvGroup {
  std::string storage;
  int64_t layers = 0, kvHeads = 0, headDim = 0, window = 0;
  Location location; ///< of its declaration
};

struct CircuitInstance {
  std::string circuit, circuitDigest;
  std::string name;                        ///< of the model
  std::map<std::string, int64_t> integers; ///< resolved parameters, for the report
  std::map<std::string, double> numbers;
  int64_t vocabulary = 0, contextLength = 0;
  std::vector<InstanceOp> ops;     ///< in order; phases prefill and decode run all of them
  std::vector<InstanceOp> hostOps; ///< phase "sample": sample, log_probability
  std::string result;              ///< the op that makes the logits
  std::vector<InstanceKvGroup> kvGroups;
  std::string kvStorage;           ///< asked for in place of the circuit's; else empty
  std::vector<Json> chatTemplates; ///< circuits/chat/<name>.json, in the circuit's order
};

/// The storage type of the rope_frequencies constant and of every other constant.
inline constexpr const char *kConstantStorage = "f64";

/// The circuit whose `match` fits the file's metadata. E030: none (with the known ones) or several.
const Json &findCircuit(const Catalog &catalog, const ModelFile &model);

/// Reads parameters, checks that every metadata key is consumed, listed as carrying no mathematics,
/// or has the one value that the circuit requires, and every tensor's presence, shape and use. E030
/// a circuit that does not fit together, E031 a key or tensor that nothing consumes, E032 one that
/// is missing, E033 a size, E034 a rule or fixed value, E035 a parameter that nothing uses. With
/// `kvStorage`, K and V are kept in that storage and not in the circuit's.
CircuitInstance instantiate(const Catalog &catalog, const Json &circuit, const ModelFile &model,
                            const std::string &kvStorage = {});

} // namespace writ
