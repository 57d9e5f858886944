// Memory of a run under a layout, stage by stage; whether it fits, and the changes that make it
// fit.
#ifndef SEXTANT_ENGINE_RUN_MEMORY_ESTIMATE_H_
#define SEXTANT_ENGINE_RUN_MEMORY_ESTIMATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/variant.h"
#include "engine/base/call_work.h"
#include "engine/base/interval.h"
#include "engine/base/units.h"
#include "engine/memory/fit.h"
#include "engine/memory/host_memory.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"
#include "engine/run/job.h"

namespace sextant {

// The 90th percentile of a normal distribution, in standard deviations.
inline constexpr double kNinetiethPercentile = 1.2815515655446004;

// The chance that a figure is at most `limit`: half of a normal distribution on each side of the
// expected one. A step where an end is the expected figure. Derivation: docs/memory.md, "Fit".
double ChanceAtMost(const Interval<double>& figure, double limit);

struct StageEstimate {
  StageMemory memory;
  std::vector<int64_t> micro_batches_in_flight;  // by chunk
  int64_t layer_count = 0;
  int64_t parameter_count = 0;  // before sharding over data parallel ranks
  LedgerRows ledger;            // empty unless asked for
};

// From the cheapest to the most expensive; docs/memory.md, "Fit", explains the order.
enum class RunSetting {
  kSequenceParallel,
  kAttention,
  kLoss,
  kZeroStage,
  kRecomputedParts,
  kMicroBatchSize,
  kSelectiveRecompute,
  kExpertParallelSize,
  kFullRecompute,
  kTensorParallelSize,
  kContextParallelSize,
  kPipelineParallelSize,
  kOffloadOptimizer,
  kDeviceCount,
  kOffloadParameters,
  kSequenceLength,
};
inline constexpr int kRunSettingCount = 16;

// One changed setting.
struct RunChange {
  RunSetting setting;
  int64_t value;  // the new value: a size, or the index of a choice

  friend bool operator==(const RunChange&, const RunChange&) = default;
};

using SettingValue = absl::variant<int64_t, bool, ZeroStage, RecomputePolicy, AttentionKernel,
                                   LossKind, OptimizerLoop>;

// A setting and its new value.
struct ChangedSetting {
  std::string field;  // its path in the request: "layout.micro_batch_size"
  SettingValue from;
  SettingValue to;
};

// From the cheapest to the most expensive.
enum class ChangeCost { kNone, kLittleTime, kTime, kTimeAndHostMemory, kDevices, kOtherRun };

struct SettingCost {
  ChangeCost kind;
  absl::string_view text;
};

SettingCost CostOf(const RunChange& change);

// The possible changes of `choice`, grouped by setting, the smallest change of each first.
std::vector<RunChange> ChangesOf(const JobContext& context, const JobChoice& choice);

// Applies `change` to `choice`, together with the changes that it requires. Returns all changed
// settings.
std::vector<ChangedSetting> Apply(const RunChange& change, JobChoice& choice);

struct FittingChange {
  std::vector<ChangedSetting> settings;  // one with its prerequisites, or two
  ChangeCost cost = ChangeCost::kNone;   // the larger of its settings'
  std::string cost_text;                 // of each setting
  BytesInterval process = {};            // of the stage with the peak
  Bytes host = Bytes(0);                 // of the fullest server
};

// A choice that the request leaves open and that code in use makes in two ways, and the memory of
// the other one.
struct OpenChoice {
  ChangedSetting setting;      // `from` is assumed
  BytesInterval process = {};  // of the stage with the peak, under the other
  bool spanned = false;        // the peak's interval holds both
  bool decides = false;        // under the other, the run's verdict is another
};

struct MemoryEstimate {
  std::vector<StageEstimate> stages;
  std::vector<std::string> layer_kinds;  // names, by LedgerRow::layer_kind
  int64_t peak_stage = 0;
  ZeroStage zero_stage = ZeroStage::kNone;
  Framework framework = Framework::kMegatronLm;
  Bytes usable = Bytes(0);  // of a device
  double fit_chance = 1;    // of the devices' memory
  HostFit host = {};
  Verdict verdict = Verdict::kFits;  // the worse of the devices' and the host's
  int64_t data_parallel_size = 1;
  int64_t micro_batch_count = 1;
  std::vector<FittingChange> changes;
  std::vector<OpenChoice> open_choices;
  int64_t changes_considered = 0;
  bool search_ended_early = false;  // FittingChanges::ended_early
  // RunLayout's. Where there are any, the verdict is kTight unless their effect leaves it as it is.
  std::vector<std::string> unmodelled_settings;
  MemoryEffect unmodelled_effect = MemoryEffect::kEither;
  // The framework's own recipe of the model, whose types the request leaves open; "": none.
  absl::string_view recipe = "";

  const StageMemory& peak() const { return stages[static_cast<size_t>(peak_stage)].memory; }
};

// The chance that `process` is at most `usable`: half of a normal distribution on each side of the
// expected size, of which the interval holds 80 %. A step where an end is the expected size.
// Derivation: docs/memory.md, "Fit".
double FitChance(const BytesInterval& process, Bytes usable);

// kFits, kTight or kDoesNotFit.
Verdict VerdictOf(double fit_chance, const FitThresholds& thresholds);

struct FittingChanges {
  std::vector<FittingChange> changes;
  int64_t considered = 0;
  bool ended_early = false;  // at kMaxSearchSteps: further changes were not considered
};

// The steps of CallWork after which a search for changes begins no further one: about 20 ms. A
// search for any model in use takes a fraction of them.
inline constexpr int64_t kMaxSearchSteps = 3'000'000;

// The memory that a run may use.
struct MemoryLimits {
  Bytes usable;  // per device; at least 1
  FitThresholds thresholds = {};
  HostServer server = {};
};

struct EstimateInput {
  const JobContext& context;
  const JobChoice& choice;
  const MemoryModel& model;  // of the choice's job
  MemoryLimits limits;
  bool include_ledger = false;
  CallWork& work;
};

// The changes that make a run fit: for each setting, the smallest change with which the verdict on
// the choice of `input` is kFits within its limits; the cheapest setting first. Where there is
// none, or only changes that take more devices or alter the training run, the cheapest pair of
// other changes comes first, ordered by the sum of their places in RunSetting. Errors: CallWork's.
absl::StatusOr<FittingChanges> FindFittingChanges(const EstimateInput& input);

// Every stage at its peak, the verdict, and the changes that help where the verdict isn't FITS.
//
// Errors: kInvalidArgument "options.include_ledger" beyond kMaxLedgerRows; those of MemoryModel and
// of CallWork.
absl::StatusOr<MemoryEstimate> EstimateMemory(const EstimateInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MEMORY_ESTIMATE_H_
