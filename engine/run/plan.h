// One run, planned: parameters, FLOPs, model state, fit, time, money and energy.
#ifndef SEXTANT_ENGINE_RUN_PLAN_H_
#define SEXTANT_ENGINE_RUN_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/rates.h"
#include "engine/memory/fit.h"
#include "engine/memory/model_state.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/run/derivation.h"
#include "engine/run/memory_estimate.h"
#include "engine/run/run_cost.h"
#include "engine/run/run_flops.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Texts that are views point into the RunSpec, or are there for ever.
struct Plan {
  // The preset's, the config.json's model_type, "transformer" or "parameters".
  absl::string_view model_name;
  absl::string_view accelerator;  // as the catalogue names it, or else as it names itself
  int64_t device_count = 0;
  int64_t token_count = 0;
  ArchitectureCount parameters;
  WeightTensors tensors;  // empty where the model is a bare count
  RunFlops flops;
  ModelState state;
  absl::optional<Bytes> activations = {};
  Bytes usable_per_device;
  Fit fit;                                              // shared out evenly
  absl::optional<MemoryEstimate> memory_estimate = {};  // present where the run has a layout
  absl::optional<RunCost> lower_bound = {};             // these two absent where no peak is known
  absl::optional<RunCost> textbook_estimate = {};
  absl::optional<RunCost> measured_bound = {};  // absent where nothing was measured
  std::vector<Rate> rates;
  std::vector<std::string> assumptions;
  std::vector<DerivationStep> derivation;  // empty unless asked for

  bool has_shapes() const { return !tensors.empty(); }
  Verdict verdict() const;
};

// Plans `run`. Pure: the same run gives the same plan. `found` are violations that the
// caller has found already (a wire format has mistakes of its own); they are reported
// together with the engine's.
//
// Errors:
//   kInvalidArgument FIELD_INVALID   every field at fault, unknown names among others
//   kNotFound MODEL_UNKNOWN          only the preset's name is at fault
//   kNotFound GPU_UNKNOWN            only the accelerator's name is at fault
//   kNotFound DEVICE_UNKNOWN         only the name of one device of this host is at fault
//   kFailedPrecondition RATES_NOT_MEASURED   a rate that the run needs, or demands, is missing
absl::StatusOr<Plan> PlanRun(const RunSpec& run, FieldViolations found = {});

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_PLAN_H_
