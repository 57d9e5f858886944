// A model, counted: parameters, FLOPs of a training step, and what each GPU holds.
#ifndef SEXTANT_ENGINE_MODEL_COUNT_MODEL_H_
#define SEXTANT_ENGINE_MODEL_COUNT_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/flops_by_convention.h"
#include "engine/model/flops/kaplan_table.h"
#include "engine/model/model_spec.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

// Its fields stand at "model", "step" and "layout".
struct CountSpec {
  ModelSpec model = {};  // no bare parameter_count
  absl::optional<TrainingStepSpec> step = {};
  absl::optional<ParallelLayout> layout = {};
  FlopsDetail detail = FlopsDetail::kTotals;
  bool conventions = false;  // FLOPs under each of them, too; needs FlopsDetail::kComponents
};

// Points into the CountSpec.
struct CountedModel {
  ShapedModel model;
  WeightTensors tensors;
  ArchitectureCount parameters;
  absl::optional<StepFlops> flops = {};  // with a step
  std::vector<ConventionFlops> conventions = {};
  std::vector<KaplanRow> kaplan_table = {};    // empty where it says nothing about the model
  absl::optional<ShardedWeights> shards = {};  // with a layout
};

// Counts `spec`. `found` are violations that the caller has found already; they are reported
// together with the engine's.
//
// Errors:
//   kInvalidArgument FIELD_INVALID   every field at fault
//   kNotFound MODEL_UNKNOWN          only the preset's name is at fault
absl::StatusOr<CountedModel> CountModel(const CountSpec& spec, FieldViolations found = {});

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_COUNT_MODEL_H_
