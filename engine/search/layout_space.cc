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

std::vector<int32_t> GivenOr(absl::optional<int64_t> given,
                             absl::FunctionRef<std::vector<int32_t>()> values) {
  return given.has_value() ? Only(*given) : values();
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
    const ParallelSizes& given = layout_.parallel;
    const int64_t length = *run_.training.sequence_length;
    const bool across = run_.options.tensor_across_nodes;
    const int64_t group = across ? out_.device_count : out_.node_devices;
    out_.tensor = GivenOr(given.tensor_parallel_size, [&] {
      return DivisorsOf(group, across ? std::max(kMaxTensor, out_.node_devices) : group);
    });
    const bool by_hand = !given.layers_per_chunk.empty();
    out_.pipeline = GivenOr(given.pipeline_parallel_size, [&] {
      const int64_t stages = traits_.pipeline.value ? std::min(out_.layer_count, kMaxStages) : 1;
      return DivisorsOf(out_.device_count, by_hand ? 1 : stages);
    });
    out_.virtual_stages = GivenOr(given.virtual_stage_count, [&] {
      return DivisorsOf(out_.layer_count, out_.interleaves && !by_hand ? kMaxStages : 1);
    });
    out_.context = GivenOr(layout_.context_parallel_size, [&] {
      return PowersOfTwo(std::clamp<int64_t>(length / kMinContextTokens, 1, kMaxContext));
    });
    const bool has_experts = out_.expert_count > 0;
    out_.expert = GivenOr(given.expert_parallel_size, [&] {
      return DivisorsOf(std::max<int64_t>(out_.expert_count, 1), out_.device_count);
    });
    out_.expert_tensor = given.expert_tensor_parallel_size.has_value()
                             ? Only(*given.expert_tensor_parallel_size, 0)
                         : has_experts ? std::vector<int32_t>{0, 1}
                                       : std::vector<int32_t>{0};
    out_.micro_batch = GivenOr(layout_.micro_batch_size,
                               [&] { return PowersOfTwo(std::min(kMaxMicroBatch, out_.batch)); });
    FillShardGroups();
  }

  // All ranks, or those of one server.
  void FillShardGroups() {
    out_.shard_group = Only(layout_.sharding.shard_group_size, 0);
    if (layout_.sharding.shard_group_size > 0 || out_.node_devices >= out_.device_count) return;
    out_.shard_group.push_back(static_cast<int32_t>(out_.node_devices));
  }

  void FillChoices() {
    FillKernels();
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

  void FillKernels() {
    out_.kernels = {{}};
    if (!run_.options.search_kernels) return;
    out_.kernels.clear();
    std::vector<LossKind> losses = {layout_.loss.value_or(traits_.loss.value)};
    if (!layout_.loss.has_value() && traits_.fused_loss.value &&
        losses.front() != LossKind::kFused) {
      losses.push_back(LossKind::kFused);
    }
    for (const LossKind loss : losses) {
      out_.kernels.push_back({true, layout_.kernels.attention, loss});
    }
  }

  // True if attention is unfused in the layouts of a choice.
  bool IsUnfused(const KernelChoice& choice) const {
    return (choice.is_chosen ? choice.attention : layout_.kernels.attention) ==
           AttentionKernel::kUnfused;
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
    const auto with = [this](bool RecomputeChoice::*part) {
      const size_t count = out_.recompute.size();
      for (size_t i = 0; i < count; ++i) {
        RecomputeChoice choice = out_.recompute[i];
        choice.*part = true;
        out_.recompute.push_back(choice);
      }
    };
    const bool modules = traits_.recomputes_modules.value;
    if (modules) with(&RecomputeChoice::norm_outputs);
    if (modules && out_.expert_count > 0) with(&RecomputeChoice::activation_function);
    if (modules && HasLatentAttention(context_.spec)) with(&RecomputeChoice::latent_projections);
    if (std::any_of(out_.kernels.begin(), out_.kernels.end(),
                    [this](const auto& choice) { return IsUnfused(choice); })) {
      with(&RecomputeChoice::attention_core);
    }
    for (const int32_t layers : PowersOfTwo(kMaxBlockLayers)) {
      out_.recompute.push_back({.full = true, .layers_per_block = layers});
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

// Adds `choice` to what `run` computes again.
void ApplyRecompute(const RecomputeChoice& choice, JobChoice& run) {
  Recomputation& parts = run.layout.kernels.recomputation;
  if (choice.full) {
    run.recompute = RecomputePolicy::kFull;
    parts = {};
  }
  if (choice.attention_core) run.recompute = RecomputePolicy::kSelective;
  if (choice.layers_per_block > 1) parts.layers_per_block = choice.layers_per_block;
  parts.norm_outputs |= choice.norm_outputs;
  parts.activation_function |= choice.activation_function;
  parts.latent_up_projections |= choice.latent_projections;
}

// Layers that don't divide into stages are dealt out one by one from the second stage on.
void DealLayers(const LayoutChoice& choice, int64_t layer_count, std::vector<int64_t>& out) {
  const int64_t chunks = int64_t{choice.pipeline} * choice.virtual_stages;
  if (layer_count % chunks == 0) return;
  out.assign(static_cast<size_t>(chunks), layer_count / chunks);
  const int64_t rest = layer_count % chunks;
  for (int64_t i = 1; i <= rest; ++i) ++out[static_cast<size_t>(i % chunks)];
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

void ApplyTo(const LayoutChoice& choice, int64_t layer_count, JobChoice& run) {
  RunLayout& layout = run.layout;
  layout.framework.searched = true;
  if (choice.kernels.is_chosen) {
    layout.kernels.attention = choice.kernels.attention;
    layout.loss = choice.kernels.loss;
  }
  for (const ChosenSize& each : kChosenSizes) each.size.in(layout) = choice.*each.chosen;
  layout.sequence_parallel = choice.sequence_parallel;
  layout.schedule = choice.schedule;
  layout.zero_stage = choice.zero_stage;
  layout.sharding.shard_group_size = choice.shard_group;
  if (choice.stays_gathered) layout.reshard_after_forward = false;
  if (choice.offload != Offload::kNone) {
    layout.sharding.offload_optimizer = true;
    layout.sharding.offload_parameters = choice.offload == Offload::kAll;
  }
  ApplyRecompute(choice.recompute, run);
  std::vector<int64_t>& layers = layout.parallel.layers_per_chunk;
  if (layers.empty()) DealLayers(choice, layer_count, layers);
}

void ApplyTo(const LayoutChoice& choice, int64_t layer_count, RunSpec& run) {
  JobChoice job = {.layout = *std::move(run.layout),
                   .recompute = run.training.recompute.value_or(RecomputePolicy::kNone)};
  ApplyTo(choice, layer_count, job);
  run.layout = std::move(job.layout);
  run.training.recompute = job.recompute;
}

double GuessOf(const LayoutGroup& group, const LayoutSpace& space) {
  const LayoutChoice& sizes = group.sizes;
  double losses = 0.04 * std::log2(sizes.tensor) + 0.03 * std::log2(sizes.context) +
                  0.03 * std::log2(sizes.expert) + 0.01 * std::log2(sizes.virtual_stages);
  if (sizes.kernels.attention == AttentionKernel::kUnfused) losses += 0.1;
  return (1 + BubbleOf(CountOf(space.micro_batch.front(), group, space), group)) * (1 + losses);
}

double GuessWithin(const LayoutChoice& choice, const LayoutGroup& group, const LayoutSpace& space) {
  const double count = CountOf(choice.micro_batch, group, space);
  double losses = 0.01 * choice.recompute.norm_outputs +
                  0.01 * choice.recompute.activation_function +
                  0.04 * choice.recompute.attention_core +
                  0.04 * choice.recompute.latent_projections + 0.32 * choice.recompute.full;
  if (choice.tensor > 1 && !choice.sequence_parallel) losses += 0.05;
  if (choice.zero_stage == ZeroStage::kParameters && choice.pipeline > 1) losses += 0.2 * count;
  if (choice.zero_stage == ZeroStage::kParameters) {  // gathered by these ranks
    const double all = static_cast<double>(group.data) * choice.context;
    losses += 0.02 * std::log2(choice.shard_group > 0 ? choice.shard_group : all);
  }
  return (1 + BubbleOf(count, group)) * (1 + losses);
}

}  // namespace sextant
