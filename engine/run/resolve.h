// Resolves the names of a run to its model and devices.
#ifndef SEXTANT_ENGINE_RUN_RESOLVE_H_
#define SEXTANT_ENGINE_RUN_RESOLVE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/framework/workspace.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/checked_model.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/flops_by_convention.h"
#include "engine/model/model_spec.h"
#include "engine/run/job.h"
#include "engine/run/run_devices.h"
#include "engine/run/run_spec.h"

namespace sextant {

struct FlopsCount {
  FlopsConvention convention;
  Flops per_token;
  Flops run;
  std::vector<TermDifference> differences = {};  // per_token minus that of kExactCausal
};

// FLOPs computed, recomputation included, next to the FLOPs that the model needs. Both are exact
// counts under the convention's mask, or under half of one where it has none.
struct HardwareShare {
  Flops hardware_per_token;
  Flops model_per_token;

  double ratio() const { return hardware_per_token.value() / model_per_token.value(); }
};

struct RunFlops {
  // In the order of FlopsConvention, at least the one that the times use; of a full answer all that
  // apply.
  std::vector<FlopsCount> counts = {};
  FlopsConvention convention = FlopsConvention::kSixNTotal;  // the one that the times use
  absl::optional<HardwareShare> hardware = {};               // absent without a sequence length
  // In a full answer: per token, by component; their sum is kExactCausal.
  std::vector<Flops> products = {};

  const FlopsCount& used() const { return Of(convention); }
  Flops exact_causal() const { return Of(FlopsConvention::kExactCausal).per_token; }

 private:
  const FlopsCount& Of(FlopsConvention wanted) const;
};

// Parts of a run that another one has otherwise.
struct RunParts {
  bool model = false;
  bool training = false;      // tokens, lengths, recomputation
  bool layout = false;        // its batch and framework included
  bool device_count = false;  // of the same devices
};

// Parts of a run to resolve that are known already, from other runs. They outlive the result.
struct KnownParts {
  std::shared_ptr<const CheckedModel> model = {};  // counted; null: to count
  const RunFlops* flops = nullptr;                 // null: to count
  const RunDevices* devices = nullptr;             // null: to find
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
  ClassHabits habits = {};                                   // where the layout does not say
  // The framework's own recipe of the model, whose types the run takes; null: none.
  const Recipe* recipe = nullptr;
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
    return {counted_shape(), precision, run.training.optimizer, generation, habits, recipe};
  }

  // The parts of this that hold for a run that differs from its run in `changed` alone.
  KnownParts Known(const RunParts& changed) const;

  // Resolves `run`, which differs from the run of this in `changed` alone, and shares all else: the
  // result points into both.
  //
  // Errors: those of PlanRun().
  absl::StatusOr<ResolvedRun> With(const RunSpec& run, const RunParts& changed,
                                   CallWork& work) const;

  // The memory of `run`, the one of this, under another choice of its layout, which `layouts` may
  // know. Errors: kInvalidArgument, of the request's fields.
  absl::StatusOr<MemoryModel> MemoryWith(const RunSpec& run, const JobChoice& choice,
                                         LayoutCache& layouts) const;
};

// A model with a shape, or without one.
struct FlopsSubject {
  const CheckedModel* model = nullptr;  // null: a bare parameter_count
  const ArchitectureCount& parameters;
};

// Counts `run`, whose model is `subject`. Without a sequence length only 6 N can be counted, and
// not even that for a shape in which some parameters are not used and trained by every token.
//
// Errors: kInvalidArgument naming training.sequence_length or encoder_sequence_length, or
// options.flops_convention where it cannot count this model.
absl::StatusOr<RunFlops> RunFlopsOf(const RunSpec& run, const FlopsSubject& subject);

// The memory of a job of `shape`, whose weights were counted; with the vocabulary of `padded`,
// which outlives the result, where that is not null. Errors: those of MemoryModel::Of().
absl::StatusOr<MemoryModel> MemoryModelOf(const ShapedModel& shape,
                                          const std::shared_ptr<const ArchitectureSpec>& padded,
                                          MemoryJob job);

// Checks `run` as a whole and resolves its names. `found`: see PlanRun().
//
// Errors: those of PlanRun().
absl::StatusOr<ResolvedRun> Resolve(const RunSpec& run, FieldViolations found);
// The same, whose models are counted by `work`; `known` is not resolved again.
absl::StatusOr<ResolvedRun> Resolve(const RunSpec& run, FieldViolations found, CallWork& work,
                                    const KnownParts& known = {});

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RESOLVE_H_
