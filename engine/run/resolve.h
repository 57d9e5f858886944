// Resolves the names of a run to its model and devices.
#ifndef SEXTANT_ENGINE_RUN_RESOLVE_H_
#define SEXTANT_ENGINE_RUN_RESOLVE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/framework/workspace.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/model_spec.h"
#include "engine/run/job.h"
#include "engine/run/run_devices.h"
#include "engine/run/run_flops.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Parts of a run that another one has otherwise.
struct RunParts {
  bool model = false;
  bool training = false;      // tokens, lengths, recomputation
  bool layout = false;        // its batch and framework included
  bool device_count = false;  // of the same devices
};

// A run whose fields have all been checked and whose names were all found. Points into the
// RunSpec.
struct ResolvedRun : RunDevices {
  absl::string_view model_name = "";
  ArchitectureCount parameters = {};
  ShapedModel shape = {};  // with its weights; empty where the model is a bare count
  RunFlops flops = {};
  PrecisionPolicy precision = {};                            // with its defaults
  DeviceGeneration generation = DeviceGeneration::kUnknown;  // of the devices
  // The shape with the vocabulary that the framework pads; null: it pads nothing.
  std::shared_ptr<const ArchitectureSpec> padded = {};
  // Present where the run has a layout, and none is searched for.
  absl::optional<MemoryModel> memory = {};

  // The shape whose memory is counted under a layout.
  const ArchitectureSpec& counted_shape() const {
    return padded != nullptr ? *padded : *shape.architecture;
  }
  // `run` is the one that was resolved.
  JobContext context_of(const RunSpec& run) const {
    return {counted_shape(), precision, run.training.optimizer, generation};
  }

  // Resolves `run`, which differs from the run of this in `changed` alone, and shares all else: the
  // result points into both.
  //
  // Errors: those of PlanRun().
  absl::StatusOr<ResolvedRun> With(const RunSpec& run, const RunParts& changed) const;

  // The memory of `run`, the one of this, under another choice of its layout, which `layouts` may
  // know. Errors: kInvalidArgument, of the request's fields.
  absl::StatusOr<MemoryModel> MemoryWith(const RunSpec& run, const JobChoice& choice,
                                         LayoutCache& layouts) const;
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
