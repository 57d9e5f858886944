// Resolves the names of a run to its model and devices.
#ifndef SEXTANT_ENGINE_RUN_RESOLVE_H_
#define SEXTANT_ENGINE_RUN_RESOLVE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/framework/workspace.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/placement.h"
#include "engine/hardware/rates.h"
#include "engine/memory/fit.h"
#include "engine/memory/host_memory.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/model_spec.h"
#include "engine/run/run_flops.h"
#include "engine/run/run_spec.h"
#include "engine/time/offload_time.h"

namespace sextant {

// A run whose fields have all been checked and whose names were all found. Points into the
// RunSpec.
struct ResolvedRun {
  absl::string_view model_name;
  ArchitectureCount parameters;
  RunFlops flops;
  ShapedModel shape;  // with its weights; empty where the model is a bare count
  // The shape with the vocabulary that the framework pads; null: it pads nothing.
  std::shared_ptr<const ArchitectureSpec> padded = {};
  // Present where the run has a layout, and none is searched for.
  absl::optional<MemoryModel> memory = {};
  PrecisionPolicy precision;                 // with its defaults
  absl::string_view device_name;             // the catalogue's name, or else the device's own
  const Accelerator* accelerator = nullptr;  // its datasheet; null: not in the catalogue
  DeviceGeneration generation = DeviceGeneration::kUnknown;
  absl::optional<MeasuredGang> measured = {};  // absent: an accelerator was named
  absl::optional<FlopsPerSecond> peak = {};    // absent: neither request nor datasheet has it
  DeviceCapacity capacity;
  absl::optional<Watts> device_power = {};  // absent where no source has it
  bool measured_power = false;              // that it was measured
  const NodeType* node = nullptr;           // null: none of the product is known
  HostServer server = {};                   // that the devices are in
  absl::optional<Network> network = {};     // absent: not given, and the node type says none
  // The host's rates: looked up if the layout offloads, or a search may. 0: unknown.
  HostRates host = {};
  std::vector<Rate> rates;  // the figures above, with their sources

  // The shape whose memory is counted under a layout.
  const ArchitectureSpec& counted_shape() const {
    return padded != nullptr ? *padded : *shape.architecture;
  }

  // The source of the rate that the times use: the measured rate, or else the peak. The datasheet
  // where neither is known, and there are no times.
  RateSource matmul_source() const;
};

// The memory of a job of `shape`, whose weights were counted; with the vocabulary of `padded`,
// which outlives the result, where that is not null. Errors: those of MemoryModel::Of().
absl::StatusOr<MemoryModel> MemoryModelOf(const ShapedModel& shape,
                                          const std::shared_ptr<const ArchitectureSpec>& padded,
                                          MemoryJob job);

// Checks `run` as a whole and resolves its names. `found`: see PlanRun().
//
// Errors: those of PlanRun().
absl::StatusOr<ResolvedRun> Resolve(const RunSpec& run, FieldViolations found);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RESOLVE_H_
