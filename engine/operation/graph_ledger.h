// Storages with their first and last moment, and the moment at which most bytes are there.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_LEDGER_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_LEDGER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/operation/graph_memory.h"

namespace sextant {

enum class MomentKind { kForward, kRecompute, kBackward, kAccumulation, kUpdate };

struct LedgerMoment {
  MomentKind kind = MomentKind::kForward;
  absl::string_view name = {};  // of the operation, or of the tensor whose gradients are added
};

class Ledger {
 public:
  // The number of the next moment, which `moment` describes; its name has to outlive the ledger.
  size_t Next(LedgerMoment moment);
  // Moments so far: the number that the next one will have.
  size_t moment_count() const { return moments_.size(); }
  // What is read from here on of what was made before has to be saved.
  void EndForward() { forward_end_ = moments_.size(); }

  // A storage that is there at `moment`, or all along; its number.
  size_t Add(GraphStorage storage, size_t moment);
  size_t AddHeld(GraphStorage storage);
  // It is there until `moment`, at least.
  void Touch(size_t storage, size_t moment);
  // It is there to the end.
  void Hold(size_t storage);
  void Rename(size_t storage, std::string name, StorageKind kind);
  // Why it is read after the forward pass. Of what is made after it nothing is noted.
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
  size_t PeakMoment() const;

  std::vector<LedgerMoment> moments_;
  std::vector<Entry> entries_;
  size_t forward_end_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_LEDGER_H_
