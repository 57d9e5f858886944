// The possible changes of a run that make it fit.
#include <algorithm>
#include <utility>

#include "engine/run/layout_fields.h"
#include "engine/run/memory_estimate.h"

namespace sextant {
namespace {

constexpr int64_t kMaxRanks = 65'536;
constexpr int64_t kMaxTensorRanks = 64;   // the largest NVLink domains of today have 72
constexpr int64_t kMaxDeviceFactor = 64;  // times the devices of the run
constexpr int64_t kMinSequenceLength = 512;

ZeroStage StageOf(const JobChoice& choice) {
  return choice.layout.zero_stage.value_or(choice.layout.framework.traits().zero_stage.value);
}

LossKind LossOf(const JobChoice& choice) {
  return choice.layout.loss.value_or(choice.layout.framework.traits().loss.value);
}

// The size that `setting` changes.
const LayoutField& SizeOf(RunSetting setting) {
  switch (setting) {
    case RunSetting::kTensorParallelSize:
      return kTensorParallelField;
    case RunSetting::kPipelineParallelSize:
      return kPipelineParallelField;
    case RunSetting::kExpertParallelSize:
      return kExpertParallelField;
    case RunSetting::kContextParallelSize:
      return kContextParallelField;
    default:
      return kMicroBatchSequencesField;
  }
}

int64_t SizeOf(RunSetting setting, const JobChoice& choice) {
  return SizeOf(setting).in(choice.layout).value_or(1);
}

class ChangeList {
 public:
  explicit ChangeList(const JobContext& context, const JobChoice& choice)
      : context_(context),
        choice_(choice),
        kernels_(choice.layout.kernels),
        traits_(choice.layout.framework.traits()) {}

  void AddKernels() {
    const bool sequence_parallel = choice_.layout.sequence_parallel.value_or(true);
    if (!sequence_parallel && SizeOf(RunSetting::kTensorParallelSize, choice_) > 1) {
      Add(RunSetting::kSequenceParallel, 1);
    }
    if (IsUnfused()) Add(RunSetting::kAttention, 0);
    const LossKind loss = LossOf(choice_);
    if (loss != LossKind::kFused && loss != LossKind::kChunked && traits_.fused_loss.value) {
      Add(RunSetting::kLoss, static_cast<int64_t>(LossKind::kFused));
    }
  }

  void AddRecomputation() {
    const bool none = choice_.recompute == RecomputePolicy::kNone;
    const bool full = choice_.recompute == RecomputePolicy::kFull;
    const Recomputation& again = kernels_.recomputation;
    if (!RepeatsLayers(choice_.recompute) && !(again.activation_function && again.norm_outputs)) {
      Add(RunSetting::kRecomputedParts, 1);
    }
    if (none && IsUnfused()) Add(RunSetting::kSelectiveRecompute, 1);
    if (!full) Add(RunSetting::kFullRecompute, 1);
  }

  void AddState() {
    for (const ZeroStage stage :
         {ZeroStage::kOptimizer, ZeroStage::kGradients, ZeroStage::kParameters}) {
      if (stage <= StageOf(choice_) || !HasStage(stage)) continue;
      Add(RunSetting::kZeroStage, static_cast<int64_t>(stage));
    }
    const StateSharding& sharding = choice_.layout.sharding;
    if (!sharding.offload_optimizer) Add(RunSetting::kOffloadOptimizer, 1);
    if (!sharding.offload_parameters) Add(RunSetting::kOffloadParameters, 1);
  }

  void AddSizes() {
    for (int64_t b = SizeOf(RunSetting::kMicroBatchSize, choice_) / 2; b >= 1; b /= 2) {
      Add(RunSetting::kMicroBatchSize, b);
    }
    // A code that is assumed for whole layers is not that of divided ones.
    const bool divides = !choice_.layout.framework.code_assumed;
    if (divides) AddRanks(RunSetting::kTensorParallelSize, kMaxTensorRanks);
    AddRanks(RunSetting::kContextParallelSize, kMaxRanks);
    // A split given by hand has a fixed number of stages.
    const bool by_hand = !choice_.layout.parallel.layers_per_chunk.empty();
    if (divides && !by_hand && traits_.pipeline.value) {
      AddRanks(RunSetting::kPipelineParallelSize, kMaxPipelineParallelSize);
    }
    if (HasExperts(context_.spec)) {
      AddRanks(RunSetting::kExpertParallelSize, kMaxExpertParallelSize);
    }
    for (int64_t factor = 2; factor <= kMaxDeviceFactor; factor *= 2) {
      const int64_t devices = choice_.device_count * factor;
      if (devices <= kMaxDevices) Add(RunSetting::kDeviceCount, devices);
    }
    for (int64_t s = choice_.sequence_length / 2; s >= kMinSequenceLength; s /= 2) {
      Add(RunSetting::kSequenceLength, s);
    }
  }

  std::vector<RunChange> Take() {
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const RunChange& a, const RunChange& b) { return a.setting < b.setting; });
    return std::move(changes_);
  }

 private:
  void Add(RunSetting setting, int64_t value) { changes_.push_back({setting, value}); }

  void AddRanks(RunSetting setting, int64_t most) {
    for (int64_t ranks = SizeOf(setting, choice_) * 2;
         ranks <= std::min(most, choice_.device_count); ranks *= 2) {
      Add(setting, ranks);
    }
  }

  bool IsUnfused() const {
    return choice_.layout.attention.value_or(context_.habits.attention) ==
           AttentionKernel::kUnfused;
  }

  // True where the framework can divide state so.
  bool HasStage(ZeroStage stage) const {
    const bool pipeline = SizeOf(RunSetting::kPipelineParallelSize, choice_) > 1;
    const ZeroStage most =
        pipeline ? traits_.max_zero_stage_under_pipeline.value : traits_.max_zero_stage.value;
    if (traits_.shards_all_or_nothing.value && stage == ZeroStage::kOptimizer) return false;
    return stage <= most;
  }

  const JobContext& context_;
  const JobChoice& choice_;
  const MicroBatchSpec& kernels_;
  const FrameworkTraits& traits_;
  std::vector<RunChange> changes_;
};

ChangedSetting SizeChanged(absl::string_view field, int64_t from, int64_t to) {
  return {std::string(field), from, to};
}

ChangedSetting SwitchedOn(absl::string_view field) { return {std::string(field), false, true}; }

// Switches `value` on; adds the change where it was off.
void SwitchOn(absl::string_view field, bool& value, std::vector<ChangedSetting>& out) {
  if (!std::exchange(value, true)) out.push_back(SwitchedOn(field));
}

ChangedSetting ApplySize(const RunChange& change, JobChoice& choice) {
  const LayoutField& size = SizeOf(change.setting);
  const int64_t from = SizeOf(change.setting, choice);
  size.set(change.value, choice.layout);
  return SizeChanged(size.path, from, change.value);
}

ChangedSetting ApplyRecompute(RecomputePolicy policy, JobChoice& choice) {
  const RecomputePolicy from = std::exchange(choice.recompute, policy);
  if (policy == RecomputePolicy::kFull) choice.layout.kernels.recomputation = {};
  return {"training.recompute", from, policy};
}

ChangedSetting ApplyZeroStage(ZeroStage stage, JobChoice& choice) {
  const ZeroStage from = StageOf(choice);
  choice.layout.zero_stage = stage;
  return {std::string(kStateDivisionField.path), from, stage};
}

std::vector<ChangedSetting> RecomputeParts(Recomputation& recomputation) {
  std::vector<ChangedSetting> out;
  SwitchOn(kActivationAgainField.path, recomputation.activation_function, out);
  SwitchOn(kNormsAgainField.path, recomputation.norm_outputs, out);
  return out;
}

std::vector<ChangedSetting> OffloadParameters(JobChoice& choice) {
  std::vector<ChangedSetting> out;
  if (StageOf(choice) != ZeroStage::kParameters) {
    out.push_back(ApplyZeroStage(ZeroStage::kParameters, choice));
  }
  SwitchOn(kOffloadedOptimizerField.path, choice.layout.sharding.offload_optimizer, out);
  SwitchOn(kOffloadedParametersField.path, choice.layout.sharding.offload_parameters, out);
  return out;
}

}  // namespace

SettingCost CostOf(const RunChange& change) {
  if (change.setting == RunSetting::kZeroStage &&
      change.value == static_cast<int64_t>(ZeroStage::kParameters)) {
    return {ChangeCost::kTime, "time: weights are gathered in each forward and backward pass"};
  }
  constexpr SettingCost kCosts[] = {
      {ChangeCost::kNone, "no time: the same bytes, gathered and scattered instead of reduced"},
      {ChangeCost::kNone, "none: a fused kernel is the faster one"},
      {ChangeCost::kNone, "none: the gradient takes the place of the logits"},
      {ChangeCost::kNone, "no time: as much is sent, in other collectives"},
      {ChangeCost::kLittleTime, "little time: elementwise work is done again"},
      {ChangeCost::kTime, "some time: smaller matrix products, more of them"},
      {ChangeCost::kTime, "some time: scores are computed again"},
      {ChangeCost::kTime, "some time: tokens are sent to more ranks"},
      {ChangeCost::kTime, "time: up to a third more FLOPs, a forward pass of all layers again"},
      {ChangeCost::kTime,
       "time: more is sent in every layer, in the fast domain only if that is large enough"},
      {ChangeCost::kTime, "time: keys and values are sent around in every layer"},
      {ChangeCost::kTime, "time: a longer bubble, unless the step has more micro-batches"},
      {ChangeCost::kTimeAndHostMemory,
       "time: gradients and weights cross the host link in each step; and memory of the host"},
      {ChangeCost::kDevices, "money: more devices for less time each"},
      {ChangeCost::kTimeAndHostMemory,
       "much time: weights cross the host link in each pass; and memory of the host"},
      {ChangeCost::kOtherRun, "another run: the model sees shorter sequences"}};
  static_assert(sizeof(kCosts) / sizeof(kCosts[0]) == kRunSettingCount);
  return kCosts[static_cast<size_t>(change.setting)];
}

std::vector<RunChange> ChangesOf(const JobContext& context, const JobChoice& choice) {
  ChangeList list(context, choice);
  list.AddKernels();
  list.AddRecomputation();
  list.AddState();
  list.AddSizes();
  return list.Take();
}

std::vector<ChangedSetting> Apply(const RunChange& change, JobChoice& choice) {
  MicroBatchSpec& kernels = choice.layout.kernels;
  switch (change.setting) {
    case RunSetting::kSequenceParallel:
      choice.layout.sequence_parallel = true;
      return {SwitchedOn(kSequenceParallelField.path)};
    case RunSetting::kAttention:
      choice.layout.attention = AttentionKernel::kFlash;
      return {
          {std::string(kAttentionField.path), AttentionKernel::kUnfused, AttentionKernel::kFlash}};
    case RunSetting::kLoss: {
      const LossKind from = LossOf(choice);
      choice.layout.loss = LossKind::kFused;
      return {{std::string(kLossField.path), from, LossKind::kFused}};
    }
    case RunSetting::kZeroStage:
      return {ApplyZeroStage(static_cast<ZeroStage>(change.value), choice)};
    case RunSetting::kRecomputedParts:
      return RecomputeParts(kernels.recomputation);
    case RunSetting::kSelectiveRecompute:
      return {ApplyRecompute(RecomputePolicy::kSelective, choice)};
    case RunSetting::kFullRecompute:
      return {ApplyRecompute(RecomputePolicy::kFull, choice)};
    case RunSetting::kOffloadOptimizer:
      choice.layout.sharding.offload_optimizer = true;
      return {SwitchedOn(kOffloadedOptimizerField.path)};
    case RunSetting::kOffloadParameters:
      return OffloadParameters(choice);
    case RunSetting::kDeviceCount:
      return {SizeChanged("cluster.device_count", std::exchange(choice.device_count, change.value),
                          change.value)};
    case RunSetting::kSequenceLength:
      return {SizeChanged("training.sequence_length",
                          std::exchange(choice.sequence_length, change.value), change.value)};
    default:
      return {ApplySize(change, choice)};
  }
}

}  // namespace sextant
