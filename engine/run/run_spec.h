// A run to plan, as in sextant.v1.PlanRunRequest. Absent optionals and zeros in required fields
// arrive here unchanged; CheckRun() reports them.
#ifndef SEXTANT_ENGINE_RUN_RUN_SPEC_H_
#define SEXTANT_ENGINE_RUN_RUN_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/framework/software_stack.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/rates.h"
#include "engine/memory/fit.h"
#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/state/state_spec.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/training_step.h"
#include "engine/model/model_spec.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/trace/micro_batch.h"
#include "engine/time/rate_requirement.h"

namespace sextant {

struct TrainingSpec {
  int64_t token_count = 0;
  PrecisionPolicy precision;
  OptimizerSpec optimizer;
  absl::optional<int64_t> activation_bytes = {};
  absl::optional<int64_t> sequence_length = {};
  absl::optional<int64_t> encoder_sequence_length = {};
  absl::optional<RecomputePolicy> recompute = {};  // absent: none, or any that a search chooses
};

// The most devices of a run.
inline constexpr int64_t kMaxDevices = 1'000'000;

struct ClusterSpec {
  DeviceSelection device = {};
  int64_t device_count = 0;
  absl::optional<double> peak_flops_per_second = {};
  absl::optional<int64_t> device_memory_bytes = {};
  absl::optional<int64_t> reserved_memory_bytes = {};
  absl::string_view node_type = "";  // empty: the usual one of the product
  NetworkRequest network = {};
  // AssumeNodes() filled in the node type, and the network's name.
  bool node_is_assumed = false;
  bool network_is_assumed = false;
  // Line rates: of one device's link to its host in one direction, and of one server's host memory.
  absl::optional<double> host_link_bytes_per_second = {};
  absl::optional<double> host_memory_bytes_per_second = {};
  absl::optional<int64_t> host_memory_bytes = {};  // of one server
};

struct EconomicsSpec {
  absl::optional<double> device_hour_price_usd = {};
  absl::optional<double> device_power_watts = {};
  absl::optional<double> host_power_watts_per_device = {};
  absl::optional<double> power_usage_effectiveness = {};
  absl::optional<double> budget_usd = {};
  absl::optional<double> seconds_to_deadline = {};  // from the run's start
};

// How far to look for a layout.
enum class SearchExtent { kNone, kBounded, kExhaustive };

struct PlanOptions {
  SearchExtent search = SearchExtent::kNone;  // read by engine/search alone
  bool tensor_across_nodes = false;           // likewise: tensor parallel groups of several servers
  bool search_kernels = false;                // likewise: of attention and loss, where not given
  absl::optional<double> assumed_mfu = {};
  absl::optional<FlopsConvention> flops_convention = {};
  bool full = false;                // everything, not only what a scheduler needs
  bool assumptions = true;          // among the notes, which otherwise are warnings alone
  bool include_derivation = false;  // needs `full`, like the ledger
  bool include_ledger = false;      // needs a layout
  bool include_operations = false;  // likewise, and a sequence length
  FitThresholds thresholds = {};
  bool require_activations = false;  // refuses to count model state alone
};

// The most phases of a ramp.
inline constexpr size_t kMaxBatchPhases = 256;

// A part of a run whose steps have a batch of their own.
struct BatchPhase {
  int64_t token_count = 0;
  int64_t global_batch_size = 0;  // sequences
};

// As in sextant.v1.InterruptionSpec. Absent fields add nothing.
struct InterruptionSpec {
  absl::optional<double> failures_per_device_hour = {};
  absl::optional<double> restart_seconds = {};
  absl::optional<double> checkpoint_write_bytes_per_second = {};
  absl::optional<double> device_write_bytes_per_second = {};
  absl::optional<double> checkpoint_read_bytes_per_second = {};
  absl::optional<double> checkpoint_stall_ratio = {};
  absl::optional<double> checkpoint_interval_seconds = {};
  absl::optional<double> stall_ratio = {};

  bool fails() const { return failures_per_device_hour.value_or(0) > 0; }
  // True where the run writes checkpoints.
  bool writes() const { return fails() || checkpoint_interval_seconds.has_value(); }
};

// The effect of settings that are not modelled on the memory of a device.
enum class MemoryEffect { kEither, kLowers, kRaises };

// How a run is laid out over its devices and executed. Absent fields have defaults; fields given
// elsewhere in the run are filled in from there.
struct RunLayout {
  ParallelSizes parallel = {};
  absl::optional<int64_t> context_parallel_size = {};
  absl::optional<ContextParallelKind> context_parallel_kind = {};
  absl::optional<bool> sequence_parallel = {};
  absl::optional<int64_t> micro_batch_size = {};
  absl::optional<int64_t> global_batch_size = {};  // sequences
  absl::optional<PipelineSchedule> schedule = {};
  int64_t deferred_head_gradients = 0;  // PipelineSpec
  absl::optional<ZeroStage> zero_stage = {};
  StateSharding sharding = {};  // without data_parallel_size and fields that are given here
  absl::optional<bool> reshard_after_forward = {};
  FrozenWeightFormat frozen = {};
  WeightScaling weight_scaling = WeightScaling::kNone;
  int64_t fp8_weight_copies = 0;
  MicroBatchSpec kernels = {};  // kernels and what they keep; sizes and the next four excepted
  absl::optional<AttentionKernel> attention = {};
  absl::optional<LossKind> loss = {};
  absl::optional<bool> attention_output_copied = {};
  absl::optional<bool> fused_expert_activation = {};
  FrameworkSpec framework = {};
  SoftwareSpec software = {};
  std::vector<BatchPhase> batch_ramp = {};
  std::vector<std::string> unmodelled_settings = {};  // they may change memory
  MemoryEffect unmodelled_effect = MemoryEffect::kEither;
};

// A step of the run's model that was measured on its devices. What is absent is as in the run.
struct MeasuredStep {
  double seconds = 0;
  RunLayout layout = {};
  absl::optional<int64_t> device_count = {};
  absl::optional<int64_t> sequence_length = {};
  absl::optional<RecomputePolicy> recompute = {};
};

// String views: they must outlive the call that plans the run.
struct RunSpec {
  ModelSpec model;
  TrainingSpec training;
  ClusterSpec cluster;
  EconomicsSpec economics;
  PlanOptions options;
  RateRequirement rate_requirement;
  absl::optional<RunLayout> layout = {};
  absl::optional<MeasuredStep> measured_step = {};
  InterruptionSpec interruptions = {};
};

// Appends to `violations` all errors of `run` taken by itself: ranges, missing fields, exclusive
// options. Names are resolved later.
void CheckRun(const RunSpec& run, FieldViolations& violations);

// Appends to `violations` the errors of `training`'s lengths and recompute policy for `spec`.
void CheckLengths(const TrainingSpec& training, const ArchitectureSpec& spec,
                  FieldViolations& violations);

// The training step of one sequence of the given length: FLOPs per token do not depend on the
// batch. `training` has a sequence length.
TrainingStepSpec StepOf(const TrainingSpec& training);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_SPEC_H_
