// Which arrays of a graph's training step are in memory, and when most of them are.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_MEMORY_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/operation/cost.h"

namespace sextant {

enum class StorageKind {
  kParameter,
  kOptimizerState,
  kInput,
  kTable,       // an operation's own operand: the sines of rotary positions
  kActivation,  // made by an operation's forward pass
  kStatistic,   // made by it for its backward pass alone
  kScratch,     // there while one operation runs
  kGradient,
  kParameterGradient,
};

// "parameter", "optimizer_state".
absl::string_view StorageKindName(StorageKind kind);

// An array in memory, which views share.
struct GraphStorage {
  std::string name;
  StorageKind kind = StorageKind::kActivation;
  Bytes size = Bytes(0);
};

struct SavedBy {
  std::string operation;
  std::string reason;  // "dw = x^T dy reads it"
};

// What the forward pass has to keep, since it is read after its end.
struct SavedStorage {
  GraphStorage storage;
  std::vector<SavedBy> by;
};

// There all along: parameters, optimizer state, inputs and tables. From when it is made to the
// step's end: what nothing reads, and the gradients of parameters and of inputs. Everything
// else: from when it is made to when it is last read, and scratch while its operation runs.
struct GraphMemory {
  std::vector<SavedStorage> saved;  // parameters are none of it
  Bytes saved_bytes = Bytes(0);
  Bytes peak_bytes = Bytes(0);
  std::string peak_moment;            // the first such: "backward of up"
  std::vector<GraphStorage> at_peak;  // adds up to peak_bytes
  CostSum recompute = {};             // of what is done again
  int64_t recomputed_operations = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_MEMORY_H_
