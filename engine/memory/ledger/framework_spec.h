// A request's framework and the settings in which a run differs from its defaults, as the buffers
// and reserves of a job.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_SPEC_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_SPEC_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/framework/framework.h"
#include "engine/framework/software_stack.h"
#include "engine/framework/workspace.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

struct FrameworkSpec {
  Framework kind = Framework::kMegatronLm;
  bool named = false;                   // by the request
  absl::optional<ModelCode> code = {};  // absent: the one that the framework usually trains
  bool code_assumed = false;            // `code` is not the request's
  absl::optional<CodeRelease> code_release = {};
  // A search looks for its layouts, and finds none that it refuses. Of a layout or a schedule that
  // is given, the default framework refuses nothing.
  bool searched = false;
  absl::optional<bool> persistent_gradients = {};
  absl::optional<bool> fused_weight_gradient = {};
  absl::optional<int64_t> reduce_bucket_elements = {};
  absl::optional<int64_t> gather_bucket_elements = {};
  absl::optional<int64_t> live_elements = {};
  absl::optional<bool> deferred_reduction = {};
  absl::optional<int64_t> workspace_bytes = {};
  absl::optional<double> fragmentation_ratio = {};
  absl::optional<int64_t> context_bytes = {};
  absl::optional<int64_t> communicator_bytes = {};
  absl::optional<bool> transformer_engine = {};
  bool deterministic = false;
  absl::optional<bool> grouped_experts = {};
  // Matrices that read the same input are multiplied as one.
  absl::optional<bool> fused_projections = {};
  bool captured_graphs = false;  // the host starts a micro-batch's kernels at once

  const FrameworkTraits& traits() const {
    return code.has_value() ? TraitsOf(kind, *code) : TraitsOf(kind);
  }
  bool refuses() const { return named || searched; }
  bool has_transformer_engine() const {
    return transformer_engine.value_or(traits().transformer_engine.value);
  }
};

// Where the request names no code, that of Hugging Face for DeepSpeed on whole layers: Megatron's
// forks alone divide them among tensor or pipeline parallel ranks.
void AssumeCode(const ParallelSizes& sizes, FrameworkSpec& framework);

// Appends to `violations` the errors of a code that the framework, or one that isn't named, does
// not train, and of a release of a code that has none.
void CheckCode(const FrameworkSpec& framework, FieldViolations& violations);

// `policy` with the defaults of `traits` for the types of weights, gradients and the state of
// `optimizer`, and WithDefaults() for the rest.
PrecisionPolicy WithDefaults(PrecisionPolicy policy, const FrameworkTraits& traits,
                             OptimizerKind optimizer);

// How well the attention of a run that does not name it is known.
enum class AttentionEvidence {
  kKnown,    // the code runs no other
  kAssumed,  // what the code's present release runs
  kOpen,     // releases of the last years differ
};

// The habits of a model's class where a run does not say.
struct ClassHabits {
  AttentionKernel attention = AttentionKernel::kFlash;
  AttentionEvidence evidence = AttentionEvidence::kKnown;
  LogitCopies logit_copies = LogitCopies::kNone;
};

// Those of `model` in the code of `framework`, on devices of `generation`. `model` is a preset's
// name or a config.json's model_type.
ClassHabits ClassHabitsOf(const FrameworkSpec& framework, absl::string_view model,
                          DeviceGeneration generation);

// True where gathered weights are freed after a forward pass if a run does not say.
bool DefaultReshardAfterForward(const FrameworkTraits& traits, const ParallelLayout& layout);

// The multiple to which the framework pads a vocabulary that as many ranks divide; 1: it does not
// pad.
int64_t VocabularyMultiple(const FrameworkTraits& traits, int64_t tensor_ranks);

// The buffers of `framework` under `layout`. docs/memory.md, "A stage's ledger", has the table.
BufferSpec BuffersOf(const FrameworkSpec& framework, const ParallelLayout& layout);

// The software that a run names, and what it runs on.
struct SoftwareUse {
  const SoftwareSpec& software;
  DeviceGeneration generation = DeviceGeneration::kUnknown;
};

// Fills in how many buckets `job` reduces in, and whether they are as large as they can be.
void FillBuckets(const FrameworkSpec& framework, const SoftwareUse& use, MemoryJob& job);

struct ReserveUse {
  DeviceGeneration generation = DeviceGeneration::kUnknown;
  bool experts = false;            // the model has some
  int64_t communicator_count = 0;  // groups of several ranks that a rank is in
};

// The estimated reserves of a rank.
ReserveSpec ReserveOf(const FrameworkSpec& framework, const ReserveUse& use);

// Appends to `violations` what the framework of `job`, of a model of `spec`, refuses. Its fields
// are a request's, under "layout". `any_schedule`: schedules that it lacks are not refused.
void CheckRefusals(const FrameworkTraits& traits, const ArchitectureSpec& spec,
                   const MemoryJob& job, bool any_schedule, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_SPEC_H_
