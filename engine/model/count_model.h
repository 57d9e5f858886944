// Counts a model: its parameters, the FLOPs of a training step, and the parameters per GPU.
#ifndef SEXTANT_ENGINE_MODEL_COUNT_MODEL_H_
#define SEXTANT_ENGINE_MODEL_COUNT_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/flops_by_convention.h"
#include "engine/model/model_spec.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

// Errors name its fields "model", "step" and "layout".
struct CountSpec {
  ModelSpec model = {};  // no bare parameter_count
  absl::optional<TrainingStepSpec> step = {};
  absl::optional<ParallelLayout> layout = {};
  FlopsDetail detail = FlopsDetail::kTotals;
  bool conventions = false;  // also counts FLOPs by convention; needs FlopsDetail::kComponents
};

// Points into the CountSpec.
struct CountedModel {
  ShapedModel model;                     // with its weights
  absl::optional<StepFlops> flops = {};  // with a step
  std::vector<ConventionFlops> conventions = {};
  std::vector<KaplanRow> kaplan_table = {};    // empty where the table doesn't apply to the model
  absl::optional<ShardedWeights> shards = {};  // with a layout
};

// Counts `spec`. `found` are violations that the caller has already found; they are reported
// together with the engine's.
//
// Errors:
//   kInvalidArgument FIELD_INVALID   every invalid field
//   kNotFound MODEL_UNKNOWN          only the preset's name is invalid
absl::StatusOr<CountedModel> CountModel(const CountSpec& spec, FieldViolations found = {});

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_COUNT_MODEL_H_
