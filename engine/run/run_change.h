// Settings of a run that its memory depends on, and the cost of changing each.
#ifndef SEXTANT_ENGINE_RUN_RUN_CHANGE_H_
#define SEXTANT_ENGINE_RUN_RUN_CHANGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/variant.h"
#include "engine/run/job.h"

namespace sextant {

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

using SettingValue =
    absl::variant<int64_t, bool, ZeroStage, RecomputePolicy, AttentionKernel, LossKind>;

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

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_CHANGE_H_
