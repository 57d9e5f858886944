// The buffers and reserves of training frameworks, by framework.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/memory/ledger/memory_job.h"

namespace sextant {

enum class Framework { kMegatronLm, kDeepSpeed, kPytorchFsdp };

// "megatron_lm", "deepspeed", "pytorch_fsdp".
absl::string_view FrameworkName(Framework framework);

// A framework, and the settings in which a run differs from its defaults.
struct FrameworkSpec {
  Framework kind = Framework::kMegatronLm;
  absl::optional<bool> persistent_gradients = {};
  absl::optional<bool> fused_weight_gradient = {};
  absl::optional<int64_t> reduce_bucket_elements = {};
  absl::optional<int64_t> gather_bucket_elements = {};
  absl::optional<bool> deferred_reduction = {};
  absl::optional<int64_t> workspace_bytes = {};
  absl::optional<double> fragmentation_ratio = {};
  absl::optional<int64_t> context_bytes = {};
  absl::optional<int64_t> communicator_bytes = {};
};

// The ZeRO stage where a run gives none: 3 for FSDP, else 0.
ZeroStage DefaultZeroStage(Framework framework);

// True where gathered weights are freed after a forward pass if a run does not say. False for FSDP
// under a pipeline, whose next micro-batch would gather them again. Source: pytorch/torchtitan,
// reshard_after_forward of `parallelize_llama.py`.
bool DefaultReshardAfterForward(Framework framework, const ParallelLayout& layout);

// The buffers of `framework` under `layout`. docs/memory.md has the table and its sources.
BufferSpec BuffersOf(const FrameworkSpec& framework, const ParallelLayout& layout);

// The estimated reserves of a rank that is in `communicator_count` groups of ranks.
ReserveSpec ReserveOf(const FrameworkSpec& framework, int64_t communicator_count);

// Appends the errors of `framework`, whose path is `path`, to `violations`.
void CheckFramework(const FrameworkSpec& framework, absl::string_view path,
                    FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_H_
