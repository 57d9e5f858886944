// Builds the dimensions of a search. A field that the run gives has one value. A field that it
// leaves open has the values that the framework supports within the range of published runs:
// divisors for sizes that divide devices, layers or experts, powers of two for context, micro-batch
// and block, all subsets of the parts that can be recomputed alone (at most 16), whole layers.
//
// The product of the dimensions is never stored: layout_enumeration.cc walks it. Time is linear in
// the devices, layers and experts, since DivisorsOf() tries each number.
#include "engine/search/layout_space.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/functional/function_ref.h"
#include "engine/framework/framework.h"
#include "engine/memory/ledger/framework_spec.h"
#include "engine/model/flops/saved_products.h"
#include "engine/run/job.h"

namespace sextant {
namespace {

// Sizes beyond which no published run goes.
constexpr int64_t kMaxContext = 64;
constexpr int64_t kMaxMicroBatch = 64;
constexpr int64_t kMaxTensor = 64;      // across servers
constexpr int32_t kMaxBlockLayers = 8;  // recomputed together
constexpr int64_t kMaxStages = 256;
// A rank of a ring of contexts has at least this many tokens: shorter ones hide no exchange.
constexpr int64_t kMinContextTokens = 1024;

std::vector<int32_t> DivisorsOf(int64_t number, int64_t most) {
  std::vector<int32_t> out;
  for (int64_t i = 1; i <= std::min(number, most); ++i) {
    if (number % i == 0) out.push_back(static_cast<int32_t>(i));
  }
  return out;
}

std::vector<int32_t> PowersOfTwo(int64_t most) {
  std::vector<int32_t> out;
  for (int64_t i = 1; i <= most; i *= 2) out.push_back(static_cast<int32_t>(i));
  return out;
}

// A size out of range becomes one that divides no number of devices; the product of three of them
// fits an int64.
std::vector<int32_t> Only(int64_t value, int64_t least = 1) {
  constexpr int64_t kNone = 2 * kMaxDevices + 1;
  return {static_cast<int32_t>(value < least || value > kNone ? kNone : value)};
}

int64_t LayersOf(const StackSpec& stack) {
  int64_t out = 0;
  for (const LayerRun& run : stack.layers) out += run.count;
  return out;
}

int64_t ExpertsOf(const ArchitectureSpec& spec) {
  int64_t out = 0;
  for (const LayerSpec& layer : spec.layer_kinds) {
    if (layer.experts.has_value()) out = std::max(out, layer.experts->expert_count);
  }
  return out;
}

bool HasLatentAttention(const ArchitectureSpec& spec) {
  return std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(), [](const LayerSpec& layer) {
    return layer.attention.has_value() && layer.attention->latent.has_value();
  });
}

// The OffloadSet of the state that `framework` can move to host memory.
unsigned OffloadsOf(const FrameworkSpec& framework) { return framework.traits().offloads.value; }

// The stages of ZeRO that the framework tells apart in time or memory. `weights`: also that which
// divides them, if there is one.
std::vector<ZeroStage> StagesOf(const FrameworkSpec& framework, bool weights) {
  const FrameworkTraits& traits = framework.traits();
  if (weights && traits.shards_all_or_nothing.value) return {traits.max_zero_stage.value};
  std::vector<ZeroStage> out = {ZeroStage::kNone};
  if (traits.shards_all_or_nothing.value) {
    out = {traits.zero_stage.value};
  } else if (traits.max_zero_stage.value >= ZeroStage::kOptimizer) {
    out.push_back(ZeroStage::kOptimizer);
    const bool more = weights || traits.zero_stage.value >= ZeroStage::kParameters;
    if (more && traits.max_zero_stage.value >= ZeroStage::kParameters) {
      out.push_back(ZeroStage::kParameters);
    }
  }
  return out;
}

// Fills the dimensions that the run's layout leaves open, and those that it gives.
class SpaceBuilder {
 public:
  SpaceBuilder(const RunSpec& run, const SpaceContext& context)
      : run_(run), layout_(*run.layout), traits_(layout_.framework.traits()), context_(context) {}

  LayoutSpace Build() {
    FillLimits();
    FillSizes();
    FillChoices();
    return std::move(out_);
  }

 private:
  void FillLimits() {
    out_.device_count = run_.cluster.device_count;
    out_.batch = *layout_.global_batch_size;
    out_.sequence_length = *run_.training.sequence_length;
    out_.layer_count = LayersOf(context_.spec.encoder) + LayersOf(context_.spec.decoder);
    out_.node_devices = std::min(context_.node_devices, out_.device_count);
    out_.expert_count = ExpertsOf(context_.spec);
    out_.weight_bytes = static_cast<double>(context_.parameter_count) *
                        static_cast<double>(context_.weight_bytes_each);
    out_.usable_bytes = static_cast<double>(context_.usable.value());
    out_.interleaves = (traits_.schedules.value & kInterleavedStages) != 0;
    out_.most_under_pipeline = traits_.max_zero_stage_under_pipeline.value;
  }

  void FillSizes() {
    const int64_t length = *run_.training.sequence_length;
    const bool across = run_.options.tensor_across_nodes;
    const int64_t group = across ? out_.device_count : out_.node_devices;
    // DeepSpeed's code is assumed of undivided layers, and is another of divided ones.
    const bool undivided = layout_.framework.code_assumed;
    out_.tensor = GivenOr(kTensorParallelField, [&] {
      if (undivided) return std::vector<int32_t>{1};
      return DivisorsOf(group, across ? std::max(kMaxTensor, out_.node_devices) : group);
    });
    const bool by_hand = !layout_.parallel.layers_per_chunk.empty();
    out_.pipeline = GivenOr(kPipelineParallelField, [&] {
      const int64_t stages = traits_.pipeline.value ? std::min(out_.layer_count, kMaxStages) : 1;
      return DivisorsOf(out_.device_count, by_hand ? 1 : stages);
    });
    out_.virtual_stages = GivenOr(kVirtualStagesField, [&] {
      return DivisorsOf(out_.layer_count, out_.interleaves && !by_hand ? kMaxStages : 1);
    });
    out_.context = GivenOr(kContextParallelField, [&] {
      return PowersOfTwo(std::clamp<int64_t>(length / kMinContextTokens, 1, kMaxContext));
    });
    const bool has_experts = out_.expert_count > 0;
    out_.expert = GivenOr(kExpertParallelField, [&] {
      return DivisorsOf(std::max<int64_t>(out_.expert_count, 1), out_.device_count);
    });
    const absl::optional<int64_t> expert_tensor = kExpertTensorParallelField.in(layout_);
    out_.expert_tensor = expert_tensor.has_value() ? Only(*expert_tensor, 0)
                         : has_experts             ? std::vector<int32_t>{0, 1}
                                                   : std::vector<int32_t>{0};
    out_.micro_batch = GivenOr(kMicroBatchSequencesField,
                               [&] { return PowersOfTwo(std::min(kMaxMicroBatch, out_.batch)); });
    FillShardGroups();
  }

  std::vector<int32_t> GivenOr(const LayoutField& size,
                               absl::FunctionRef<std::vector<int32_t>()> values) const {
    const absl::optional<int64_t> given = size.in(layout_);
    return given.has_value() ? Only(*given) : values();
  }

  // All ranks, or those of one server.
  void FillShardGroups() {
    out_.shard_group = Only(layout_.sharding.shard_group_size, 0);
    if (layout_.sharding.shard_group_size > 0 || out_.node_devices >= out_.device_count) return;
    out_.shard_group.push_back(static_cast<int32_t>(out_.node_devices));
  }

  void FillChoices() {
    FillLoss();
    FillOffload();
    const bool weights = !out_.offload.empty() && out_.offload.back() == Offload::kAll;
    out_.zero_stage = layout_.zero_stage.has_value() ? std::vector<ZeroStage>{*layout_.zero_stage}
                                                     : StagesOf(layout_.framework, weights);
    out_.stays_gathered = {false};
    if (!layout_.reshard_after_forward.has_value()) out_.stays_gathered.push_back(true);
    FillRecompute();
    out_.schedule = {layout_.schedule.value_or(PipelineSchedule::kOneForwardOneBackward)};
    out_.sequence_parallel = layout_.sequence_parallel.has_value()
                                 ? std::vector<bool>{*layout_.sequence_parallel}
                                 : std::vector<bool>{true, false};
    if (layout_.schedule.has_value()) return;
    const unsigned schedules = traits_.schedules.value;
    if ((schedules & kZeroBubbleSchedules) != 0) {
      out_.schedule.push_back(PipelineSchedule::kZeroBubbleH1);
      out_.schedule.push_back(PipelineSchedule::kZeroBubbleH2);
    }
    if ((schedules & kDualPipeSchedule) != 0) {
      out_.schedule.push_back(PipelineSchedule::kDualPipe);
    }
  }

  void FillLoss() {
    out_.loss = {absl::nullopt};
    if (!run_.options.search_kernels) return;
    out_.is_unfused = IsUnfused();
    out_.loss = {layout_.loss.value_or(traits_.loss.value)};
    if (!layout_.loss.has_value() && traits_.fused_loss.value &&
        out_.loss.front() != LossKind::kFused) {
      out_.loss.push_back(LossKind::kFused);
    }
  }

  bool IsUnfused() const {
    return layout_.attention.value_or(context_.attention) == AttentionKernel::kUnfused;
  }

  void FillOffload() {
    if (!context_.offloads) {
      out_.offload = {Offload::kNone};
      return;
    }
    const unsigned offloads = OffloadsOf(layout_.framework);
    if ((offloads & kOffloadsOptimizer) != 0) out_.offload.push_back(Offload::kOptimizer);
    if ((offloads & kOffloadsAll) != 0) out_.offload.push_back(Offload::kAll);
  }

  // All sets of parts that the framework can recompute alone, then whole layers.
  void FillRecompute() {
    out_.recompute = {{}};
    if (run_.training.recompute.has_value()) return;
    const auto with = [this](auto part, auto value) {
      const size_t count = out_.recompute.size();
      for (size_t i = 0; i < count; ++i) {
        Recomputation choice = out_.recompute[i];
        choice.*part = value;
        out_.recompute.push_back(choice);
      }
    };
    const bool modules = traits_.recomputes_modules.value;
    if (modules) with(&Recomputation::norm_outputs, true);
    if (modules && out_.expert_count > 0) with(&Recomputation::activation_function, true);
    if (modules && HasLatentAttention(context_.spec)) {
      with(&Recomputation::latent_up_projections, true);
    }
    if (IsUnfused()) with(&Recomputation::policy, RecomputePolicy::kSelective);
    if (traits_.recomputes_operators.value && !IsUnfused() &&
        PartOfUnknownOperators(context_.spec).empty()) {
      out_.recompute.push_back({.policy = RecomputePolicy::kOperators});
    }
    for (const int32_t layers : PowersOfTwo(kMaxBlockLayers)) {
      out_.recompute.push_back({.policy = RecomputePolicy::kFull, .layers_per_block = layers});
    }
  }

  const RunSpec& run_;
  const RunLayout& layout_;
  const FrameworkTraits& traits_;
  const SpaceContext& context_;
  LayoutSpace out_;
};

// Micro-batches of a rank.
double CountOf(int64_t micro_batch, const LayoutGroup& group, const LayoutSpace& space) {
  return static_cast<double>(space.batch) / static_cast<double>(group.data * micro_batch);
}

double BubbleOf(double count, const LayoutGroup& group) {
  return (group.sizes.pipeline - 1) / (count * group.sizes.virtual_stages);
}

}  // namespace

bool MayOffload(const RunSpec& run) {
  if (!run.layout.has_value()) return true;
  const StateSharding& given = run.layout->sharding;
  return !given.offload_optimizer && !given.offload_parameters &&
         OffloadsOf(run.layout->framework) != 0;
}

LayoutSpace SpaceOf(const RunSpec& run, const SpaceContext& context) {
  return SpaceBuilder(run, context).Build();
}

double GuessOf(const LayoutGroup& group, const LayoutSpace& space) {
  const LayoutChoice& sizes = group.sizes;
  double losses = 0.04 * std::log2(sizes.tensor) + 0.03 * std::log2(sizes.context) +
                  0.03 * std::log2(sizes.expert) + 0.01 * std::log2(sizes.virtual_stages);
  if (space.is_unfused) losses += 0.1;
  return (1 + BubbleOf(CountOf(space.micro_batch.front(), group, space), group)) * (1 + losses);
}

double GuessWithin(const LayoutChoice& choice, const LayoutGroup& group, const LayoutSpace& space) {
  const double count = CountOf(choice.micro_batch, group, space);
  const Recomputation& again = choice.recompute;
  double losses = 0.01 * again.norm_outputs + 0.01 * again.activation_function +
                  0.04 * (again.policy == RecomputePolicy::kSelective) +
                  0.04 * again.latent_up_projections +
                  0.15 * (again.policy == RecomputePolicy::kOperators) +
                  0.32 * (again.policy == RecomputePolicy::kFull);
  if (choice.tensor > 1 && !choice.sequence_parallel) losses += 0.05;
  if (choice.zero_stage == ZeroStage::kParameters && choice.pipeline > 1) losses += 0.2 * count;
  if (choice.zero_stage == ZeroStage::kParameters) {  // gathered by these ranks
    const double all = static_cast<double>(group.data) * choice.context;
    losses += 0.02 * std::log2(choice.shard_group > 0 ? choice.shard_group : all);
  }
  return (1 + BubbleOf(count, group)) * (1 + losses);
}

}  // namespace sextant
