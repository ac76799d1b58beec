//===- Reference.h - the contracts in running form ------------------------===//
//
// Evaluates an op from the fields of its contract alone, one scalar at a time, written to be read.
// It is what kernels are compared with, and shares no code and no constant with them: weights are
// read in the file's storage, elementary functions are interpreted from the steps of
// functions.json, and of the C library only fma, rint and sqrt are used, which IEEE 754 defines. A
// constant that a contract defines as the nearest to a real number is taken from MPFR.
//
// A field that an op does not need, and a word that its reader does not know, is an error that
// names the field.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace writ::reference {

class ReferenceError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A contract that no op can be evaluated by.
class ContractError : public ReferenceError {
public:
  ContractError(const std::string &contract, std::string field, const std::string &what)
      : ReferenceError("contract '" + contract + "': " + what), place(std::move(field)),
        text(what) {}
  /// The field at fault, "partition.chunk" in an object.
  const std::string &field() const { return place; }
  /// What is wrong, without the contract's name.
  const std::string &fault() const { return text; }

private:
  std::string place, text;
};

/// A tensor of the caller, rows of the last dimension without gaps. Weights are in the storage of
/// the model's file; rows of activation codes are rounded up as the vocabulary says.
struct Operand {
  std::string storage;
  std::vector<int64_t> shape;
  std::span<std::byte> bytes;
};

/// K and V of each sequence by logical position, [position][kv_head][head_dim], in `storage`.
/// kv_store makes the sequences and positions that it writes; what it does not write is zero bytes.
struct KvState {
  struct Sequence {
    std::vector<std::byte> k, v;
  };
  std::string storage;
  int64_t kvHeads = 0, headDim = 0;
  int64_t window = 0; ///< positions that a query may see, itself included; 0: all
  std::vector<Sequence> sequences;
};

/// [rows] each, `outputRow` [outputs]. log_probability takes `token` as the tokens to score.
struct Rows {
  std::vector<int32_t> token, position, sequence, outputRow;
};

/// What one row of `sample` asks for; the values that turn a step off are those of the vocabulary.
struct SampleRequest {
  float temperature = 0, topP = 1, minP = 0, repeatPenalty = 1;
  int64_t topK = 0;
  uint64_t seed = 0, stream = 0, position = 0;
  std::vector<int32_t> recent = {}; ///< at most 64, any order
};

/// How a call is run. Bits depend on it only where a word of the contract says so.
struct Schedule {
  int64_t workers = 1; ///< that share the call
  uint64_t run = 0;    ///< of several equal calls: who came first, what lay in the cache
  /// Names that nobody reads: what a word leaves to them differs where the names do.
  std::string isa, device, compiler;
};

/// One op. Operands, dimensions, attributes and numbers are keyed by the names of its family.
struct Call {
  const nlohmann::json *contract = nullptr;
  const nlohmann::json *vocabulary = nullptr; ///< vocabulary.json: what a reduction id stands for
  const nlohmann::json *functions = nullptr;  ///< functions.json
  std::map<std::string, Operand> operands;
  std::map<std::string, int64_t> dimensions;
  std::map<std::string, std::string> attributes;
  std::map<std::string, double> numbers;
  Rows rows;
  KvState *kv = nullptr;
  std::vector<SampleRequest> samples;
  Schedule schedule;
  bool readsOnly = false; ///< the contract is read, nothing is computed and no operand needed
};

/// Evaluates one op. Throws ReferenceError.
using Entry = void (*)(Call &);

/// The entry that a kernel map names as `contract_oracle` ("reference_linear"), or null.
Entry findReference(std::string_view name);
/// The names of all entries, sorted.
std::vector<std::string> referenceNames();

/// Reads a contract as its family's entry does before it computes. Throws ContractError at the
/// first field by which it cannot be evaluated.
void readContract(const nlohmann::json &contract, const nlohmann::json &vocabulary,
                  const nlohmann::json &functions);

/// One elementary function of functions.json at one argument, for tests and tables: all its
/// results.
std::vector<double> evaluateFunction(const nlohmann::json &functions, const std::string &name,
                                     double argument);

} // namespace writ::reference
