// The arrays of a graph's training step in memory, and their peak.
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
  kTable,       // an operand of the operation's own: the sines of rotary positions
  kActivation,  // made by an operation's forward pass
  kStatistic,   // made by the forward pass only for the backward pass
  kScratch,     // exists while one operation runs
  kGradient,
  kParameterGradient,
};

// An array in memory; views share it.
struct GraphStorage {
  std::string name;
  StorageKind kind = StorageKind::kActivation;
  Bytes size = Bytes(0);
};

struct SavedBy {
  std::string operation;
  std::string reason;  // "dw = x^T dy reads it"
};

// An array that the forward pass must keep because it is read afterwards.
struct SavedStorage {
  GraphStorage storage;
  std::vector<SavedBy> by;
};

// Lifetimes. The whole step: parameters, optimizer state, inputs and tables. From creation to the
// step's end: arrays that nothing reads, and the gradients of parameters and inputs. Everything
// else: from creation to the last read, and scratch while its operation runs.
struct GraphMemory {
  std::vector<SavedStorage> saved;  // without parameters
  Bytes saved_bytes = Bytes(0);
  Bytes peak_bytes = Bytes(0);
  std::string peak_moment;            // the first of several: "backward of up"
  std::vector<GraphStorage> at_peak;  // adds up to peak_bytes
  CostSum recompute = {};             // of recomputed operations
  int64_t recomputed_operations = 0;
};

enum class MomentKind { kForward, kRecompute, kBackward, kAccumulation, kUpdate };

struct LedgerMoment {
  MomentKind kind = MomentKind::kForward;
  absl::string_view name = {};  // the operation, or the tensor whose gradients are added
};

// Records storages with their first and last moment, and finds the moment with the most bytes.
class Ledger {
 public:
  // Starts the next moment and returns its number. The name in `moment` must outlive the ledger.
  size_t Next(LedgerMoment moment);
  // The number of moments so far, which is the next one's number.
  size_t moment_count() const { return moments_.size(); }
  // Arrays made before this and read after it have to be saved.
  void EndForward() { forward_end_ = moments_.size(); }

  // Adds a storage that exists from `moment`, or throughout; returns its number.
  size_t Add(GraphStorage storage, size_t moment);
  size_t AddHeld(GraphStorage storage);
  // Extends its life to at least `moment`.
  void Touch(size_t storage, size_t moment);
  // Extends its life to the end.
  void Hold(size_t storage);
  void Rename(size_t storage, std::string name, StorageKind kind);
  // Records why it is read after the forward pass. Ignored for arrays made after that pass.
  void Saves(size_t storage, absl::string_view operation, absl::string_view reason);

  // Errors: kInvalidArgument "operations" where all storages together exceed 9.2e18 bytes.
  absl::StatusOr<GraphMemory> Close() const;

 private:
  struct Entry {
    GraphStorage storage;
    size_t first = 0;
    size_t last = 0;
    bool held = false;
    std::vector<SavedBy> saved_by;
  };

  std::string TextOf(size_t moment) const;
  bool IsThereAt(const Entry& entry, size_t moment) const {
    return entry.first <= moment && (entry.held || moment <= entry.last);
  }
  size_t PeakPhase() const;

  std::vector<LedgerMoment> moments_;
  std::vector<Entry> entries_;
  size_t forward_end_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_MEMORY_H_
