// A planned run: its parameters, FLOPs, model state, fit, time, money and energy, the derivation of
// each number, and the notes on what was assumed.
#ifndef SEXTANT_ENGINE_RUN_PLANNED_RUN_H_
#define SEXTANT_ENGINE_RUN_PLANNED_RUN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/note.h"
#include "engine/base/term.h"
#include "engine/base/units.h"
#include "engine/hardware/rates.h"
#include "engine/memory/fit.h"
#include "engine/memory/model_state.h"
#include "engine/model/architecture/checked_model.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/run/memory_estimate.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/run/step_plan.h"
#include "engine/run/whole_run.h"

namespace sextant {

// String views point into the RunSpec or to static data.
struct Plan {
  // The preset's, the config.json's model_type, "transformer" or "parameters".
  absl::string_view model_name;
  absl::string_view device;  // the catalogue's name, or else the device's own
  int64_t device_count = 0;
  int64_t token_count = 0;
  ArchitectureCount parameters;
  std::shared_ptr<const CheckedModel> model;  // null: a bare count; its spec() is not valid
  RunFlops flops;
  DataType compute_data_type = DataType::kUnspecified;
  absl::optional<FlopsPerSecond> peak = {};  // of one device in that type
  ModelState state;
  absl::optional<Bytes> activations = {};
  DeviceCapacity capacity;
  Fit fit;                                              // of an even split over all devices
  absl::optional<MemoryEstimate> memory_estimate = {};  // present where the run has a layout
  absl::optional<ComputeEstimate> compute = {};         // where asked for, of a known device
  absl::optional<StepPlan> step = {};                   // where it is predicted
  WholeRun whole_run;
  // The predicted one first, then in the order of kinds; those that have a rate.
  std::vector<TimeEstimate> estimates;
  std::vector<Rate> rates;
  Notes notes;
  std::vector<DerivationStep> derivation;  // empty unless asked for

  bool has_shapes() const { return model != nullptr; }
  const WeightTensors& tensors() const;  // none where the model is a bare count
  // Null where there is none of that kind.
  const TimeEstimate* estimate(EstimateKind kind) const;
  Verdict verdict() const;
};

// The estimate to plan by: predicted, else the textbook's, else the measured bound; null: none.
const TimeEstimate* BasisOf(const Plan& plan);

// The steps of the plan's inputs, parameters, FLOPs, memory and rates, with which a derivation
// begins. Private to engine/run.
std::vector<DerivationStep> CountSteps(const RunSpec& run, const Plan& plan);

// The steps that derive every number of `plan`, in an order in which each step uses only earlier
// ones. `plan` is complete except for its derivation.
std::vector<DerivationStep> DerivationOf(const RunSpec& run, const Plan& plan);

// The notes of the plan of `run`, by subject: arithmetic, memory, time, economics. Warnings alone
// where its options do not ask for all.
Notes NotesOf(const RunSpec& run, const ResolvedRun& resolved);

// Its part on time.
void AppendTimeNotes(const RunSpec& run, const ResolvedRun& resolved, Notes& out);

// Appends to `out` the notes on what is assumed of costs: interruptions, money and energy.
void AppendCostNotes(const RunSpec& run, const ResolvedRun& resolved, Notes& out);

// Appends to `out` the notes on what a plan found of its time: limits that `basis`, the estimate to
// plan by, misses, and a device for which the others wait.
void AppendResultNotes(const TimeEstimate& basis, const WholeRun& whole, Notes& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_PLANNED_RUN_H_
