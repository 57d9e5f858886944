// Settings of a run that its memory depends on, and what making one of them other costs.
#ifndef SEXTANT_ENGINE_RUN_RUN_CHANGE_H_
#define SEXTANT_ENGINE_RUN_RUN_CHANGE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/run/job.h"
#include "engine/run/memory_estimate.h"

namespace sextant {

// From the cheapest to the dearest; docs/memory.md says why in this order.
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

// One setting made other.
struct RunChange {
  RunSetting setting;
  int64_t value;  // what it becomes: a size, or of a choice the index

  friend bool operator==(const RunChange&, const RunChange&) = default;
};

// What `change` costs, in words.
absl::string_view CostOf(const RunChange& change);

// The changes of a run that has `choice`, those of one setting in a row, the smallest first.
std::vector<RunChange> ChangesOf(const JobContext& context, const JobChoice& choice);

// Makes `change` in `choice`, with what it can't be without; the words of all that it makes other.
std::vector<ChangedSetting> Apply(const RunChange& change, JobChoice& choice);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_CHANGE_H_
