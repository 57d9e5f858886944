// A published run whose memory somebody read, as a question to the engine.
#ifndef SEXTANT_TESTS_VALIDATION_MEASURED_CASE_H_
#define SEXTANT_TESTS_VALIDATION_MEASURED_CASE_H_

#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// The quantity of a published figure. Figures of two definitions are never in one statistic.
enum class MemoryDefinition {
  kAllocated,   // the most that the framework's allocator had handed out
  kReserved,    // the most that it had taken from the driver
  kProcess,     // what nvidia-smi or the like shows: reserved, context and communicators
  kCalculated,  // no measurement: the source's own arithmetic
};
inline constexpr int kMemoryDefinitionCount = 4;

struct MeasuredMemory {
  MemoryDefinition definition = MemoryDefinition::kAllocated;
  Bytes size = Bytes(0);
};

struct MeasuredCase {
  std::string source;  // "Megatron-LM CI"
  std::string id;
  ArchitectureSpec model = {};
  MemoryJob job = {};
  absl::optional<int64_t> stage = {};         // whose GPU was read; absent: the fullest
  std::vector<MeasuredMemory> measured = {};  // none of a job that ran out of memory
  absl::optional<Bytes> between_steps = {};   // allocated after a step: model state and workspaces
  Bytes head_buffer = Bytes(0);               // of the workspace: the head's gathered input
  std::string hardware = {};                  // as the source calls it
  absl::optional<Bytes> device_memory = {};
  bool ran_out = false;
  std::vector<std::string> assumptions = {};  // what the row doesn't say and the answer depends on
  std::set<std::string> traits = {};          // what the causes of errors are looked up by

  bool fully_known() const { return assumptions.empty(); }
};

// Why a row isn't asked about: one reason for all rows alike.
struct LeftOut {
  std::string reason;
};

using Translated = std::variant<MeasuredCase, LeftOut>;

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEASURED_CASE_H_
