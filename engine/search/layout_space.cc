#include "engine/search/layout_space.h"

#include <algorithm>
#include <cmath>

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

// The stages of ZeRO that the framework tells apart in time or memory.
std::vector<ZeroStage> StagesOf(const FrameworkSpec& framework) {
  const FrameworkTraits& traits = framework.traits();
  std::vector<ZeroStage> out = {ZeroStage::kNone};
  if (traits.shards_all_or_nothing.value) {
    out = {traits.zero_stage.value};
  } else if (traits.max_zero_stage.value >= ZeroStage::kOptimizer) {
    out.push_back(ZeroStage::kOptimizer);
    if (!framework.named) out.push_back(ZeroStage::kGradients);
    const bool more = !framework.named || traits.zero_stage.value >= ZeroStage::kParameters;
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
    out_.layer_count = LayersOf(context_.spec.encoder) + LayersOf(context_.spec.decoder);
    out_.node_devices = std::min(context_.node_devices, out_.device_count);
    out_.expert_count = ExpertsOf(context_.spec);
    out_.weight_bytes = static_cast<double>(context_.parameter_count) *
                        static_cast<double>(context_.weight_bytes_each);
    out_.usable_bytes = static_cast<double>(context_.usable.value());
    out_.interleaves = (traits_.schedules.value & kInterleavedStages) != 0;
    out_.any_groups = !layout_.framework.named;
    out_.most_under_pipeline = traits_.max_zero_stage_under_pipeline.value;
  }

  void FillSizes() {
    const ParallelLayout& sizes = layout_.parallel;
    const GivenSizes& given = layout_.given;
    const int64_t length = *run_.training.sequence_length;
    const bool across = run_.options.tensor_across_nodes;
    const int64_t group = across ? out_.device_count : out_.node_devices;
    out_.tensor = given.tensor
                      ? Only(sizes.tensor_parallel_size)
                      : DivisorsOf(group, across ? std::max(kMaxTensor, out_.node_devices) : group);
    const int64_t stages = traits_.pipeline.value ? std::min(out_.layer_count, kMaxStages) : 1;
    out_.pipeline =
        given.pipeline ? Only(sizes.pipeline_parallel_size) : DivisorsOf(out_.device_count, stages);
    out_.virtual_stages = given.virtual_stages
                              ? Only(sizes.virtual_stage_count)
                              : DivisorsOf(out_.layer_count, out_.interleaves ? kMaxStages : 1);
    out_.context = layout_.context_parallel_size.has_value()
                       ? Only(*layout_.context_parallel_size)
                       : PowersOfTwo(std::min(kMaxContext, length / kMinContextTokens));
    if (out_.context.empty()) out_.context = {1};
    out_.expert = given.expert || out_.expert_count == 0
                      ? Only(sizes.expert_parallel_size)
                      : DivisorsOf(out_.expert_count, out_.device_count);
    out_.expert_tensor = Only(sizes.expert_tensor_parallel_size, 0);
    if (!given.expert_tensor && out_.expert_count > 0) out_.expert_tensor = {0, 1};
    out_.micro_batch = layout_.micro_batch_size.has_value()
                           ? Only(*layout_.micro_batch_size)
                           : PowersOfTwo(std::min(kMaxMicroBatch, out_.batch));
    FillShardGroups();
  }

  // All ranks, those of one server, or without a framework any power of two.
  void FillShardGroups() {
    out_.shard_group = Only(layout_.sharding.shard_group_size, 0);
    if (layout_.sharding.shard_group_size > 0) return;
    const bool any = !layout_.framework.named;
    for (int64_t size = any ? 2 : out_.node_devices; size < out_.device_count; size *= 2) {
      out_.shard_group.push_back(static_cast<int32_t>(size));
      if (!any) return;
    }
  }

  void FillChoices() {
    out_.zero_stage = layout_.zero_stage.has_value() ? std::vector<ZeroStage>{*layout_.zero_stage}
                                                     : StagesOf(layout_.framework);
    out_.stays_gathered = {false};
    if (!layout_.reshard_after_forward.has_value()) out_.stays_gathered.push_back(true);
    FillRecompute();
    out_.schedule = {layout_.schedule};
    out_.sequence_parallel = layout_.sequence_parallel.has_value()
                                 ? std::vector<bool>{*layout_.sequence_parallel}
                                 : std::vector<bool>{true, false};
    if (layout_.given.schedule || !layout_.framework.named) return;
    const unsigned schedules = traits_.schedules.value;
    if ((schedules & kZeroBubbleSchedules) != 0) {
      out_.schedule.push_back(PipelineSchedule::kZeroBubbleH1);
      out_.schedule.push_back(PipelineSchedule::kZeroBubbleH2);
    }
    if ((schedules & kDualPipeSchedule) != 0) {
      out_.schedule.push_back(PipelineSchedule::kDualPipe);
    }
  }

  // All sets of parts that the framework can recompute alone, then whole layers.
  void FillRecompute() {
    out_.recompute = {{}};
    if (run_.training.recompute_given) return;
    const auto with = [this](bool RecomputeChoice::*part) {
      const size_t count = out_.recompute.size();
      for (size_t i = 0; i < count; ++i) {
        RecomputeChoice choice = out_.recompute[i];
        choice.*part = true;
        out_.recompute.push_back(choice);
      }
    };
    const bool any = !layout_.framework.named;
    const bool modules = any || traits_.recomputes_modules.value;
    if (modules) with(&RecomputeChoice::norm_outputs);
    if (any || (modules && out_.expert_count > 0)) with(&RecomputeChoice::activation_function);
    if (modules && HasLatentAttention(context_.spec)) with(&RecomputeChoice::latent_projections);
    if (layout_.kernels.attention == AttentionKernel::kUnfused) {
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

// The loops of LayoutSpace::ForEach(), a group of dimensions each. A function returns false once
// the visitor has ended them.
class Enumeration {
 public:
  Enumeration(const LayoutSpace& space, LayoutSpace::Visitor visit)
      : space_(space), visit_(visit) {}

  void Run() {
    for (const int32_t tensor : space_.tensor) {
      for (const int32_t context : space_.context) {
        for (const int32_t pipeline : space_.pipeline) {
          const int64_t model = int64_t{pipeline} * tensor * context;
          if (space_.device_count % model != 0) continue;
          choice_ = {.tensor = tensor, .pipeline = pipeline, .context = context};
          data_ = space_.device_count / model;
          if (!Experts()) return;
        }
      }
    }
  }

 private:
  bool Experts() {
    const int64_t holders = data_ * choice_.context * choice_.tensor;
    for (const int32_t expert : space_.expert) {
      for (const int32_t expert_tensor : space_.expert_tensor) {
        choice_.expert = expert;
        choice_.expert_tensor = expert_tensor;
        const int64_t each = expert_tensor == 0 ? choice_.tensor : expert_tensor;
        if (holders % (expert * each) != 0) continue;
        if (expert_tensor == choice_.tensor && space_.expert_tensor.size() > 1) continue;  // as 0
        if (!Stages()) return false;
      }
    }
    return true;
  }

  bool Stages() {
    for (const PipelineSchedule schedule : space_.schedule) {
      if (choice_.pipeline == 1 && schedule != space_.schedule.front()) continue;
      for (const int32_t virtual_stages : space_.virtual_stages) {
        if (!DividesLayers(virtual_stages, schedule)) continue;
        choice_.schedule = schedule;
        choice_.virtual_stages = virtual_stages;
        if (!MicroBatches()) return false;
      }
    }
    return true;
  }

  bool DividesLayers(int64_t virtual_stages, PipelineSchedule schedule) const {
    if (virtual_stages == 1 || space_.virtual_stages.size() == 1) return true;
    return choice_.pipeline > 1 && schedule == PipelineSchedule::kOneForwardOneBackward &&
           space_.layer_count % (virtual_stages * choice_.pipeline) == 0;
  }

  bool MicroBatches() {
    const int64_t chunks = int64_t{choice_.pipeline} * choice_.virtual_stages;
    const int64_t layers = (space_.layer_count + chunks - 1) / chunks;
    for (const int32_t micro_batch : space_.micro_batch) {
      for (const RecomputeChoice& recompute : space_.recompute) {
        if (recompute.layers_per_block > std::max<int64_t>(layers, 1)) continue;
        for (const bool sequence_parallel : space_.sequence_parallel) {
          if (choice_.tensor == 1 && sequence_parallel != space_.sequence_parallel.front())
            continue;
          choice_.micro_batch = micro_batch;
          choice_.recompute = recompute;
          choice_.sequence_parallel = sequence_parallel && choice_.tensor > 1;
          if (!State()) return false;
        }
      }
    }
    return true;
  }

  bool State() {
    for (const ZeroStage stage : space_.zero_stage) {
      if (space_.zero_stage.size() > 1) {
        if (choice_.pipeline > 1 && stage > space_.most_under_pipeline) continue;
        if (data_ == 1 && stage != space_.zero_stage.front()) continue;
      }
      for (const int32_t group : space_.shard_group) {
        if (space_.shard_group.size() > 1 && group != 0 && !Groups(stage, group)) continue;
        for (const bool stays : space_.stays_gathered) {
          if (stays && stage != ZeroStage::kParameters) continue;
          choice_.zero_stage = stage;
          choice_.shard_group = group;
          choice_.stays_gathered = stays;
          if (!Visit()) return false;
        }
      }
    }
    return true;
  }

  // Only where the group is a part of the ranks. The groups of frameworks (HSDP) are of stage 3.
  bool Groups(ZeroStage stage, int64_t group) const {
    if (choice_.expert > 1 || data_ % group != 0 || data_ <= group) return false;
    if (space_.any_groups) return stage != ZeroStage::kNone;
    return stage == ZeroStage::kParameters && choice_.tensor == 1 && choice_.context == 1 &&
           choice_.pipeline == 1;
  }

  bool Visit() {
    Pruned reason = Pruned::kBatch;
    return visit_(choice_, FindReason(reason) ? &reason : nullptr);
  }

  bool FindReason(Pruned& out) const {
    const int64_t unit = data_ * choice_.micro_batch;
    out = Pruned::kBatch;
    if (space_.batch % unit != 0) return true;
    out = Pruned::kRounds;
    const int64_t count = space_.batch / unit;
    const bool dual = choice_.schedule == PipelineSchedule::kDualPipe;
    if (dual && (count % 2 != 0 || count < 2 * choice_.pipeline)) return true;
    if (choice_.virtual_stages > 1 && count % choice_.pipeline != 0) return true;
    out = Pruned::kWeights;
    const double parts = static_cast<double>(choice_.tensor) * choice_.pipeline * choice_.expert;
    return choice_.zero_stage != ZeroStage::kParameters &&
           space_.weight_bytes / parts > space_.usable_bytes;
  }

  const LayoutSpace& space_;
  LayoutSpace::Visitor visit_;
  LayoutChoice choice_;
  int64_t data_ = 1;
};

}  // namespace

absl::string_view PrunedName(Pruned reason) {
  constexpr absl::string_view kNames[] = {"batch", "rounds", "weights", "refused", "memory"};
  return kNames[static_cast<size_t>(reason)];
}

void LayoutSpace::ForEach(Visitor visit) const { Enumeration(*this, visit).Run(); }

LayoutSpace SpaceOf(const RunSpec& run, const SpaceContext& context) {
  return SpaceBuilder(run, context).Build();
}

void ApplyTo(const RecomputeChoice& choice, RunSpec& run) {
  Recomputation& parts = run.layout->kernels.recomputation;
  if (choice.full) {
    run.training.recompute = RecomputePolicy::kFull;
    parts = {};
  }
  if (choice.attention_core) run.training.recompute = RecomputePolicy::kSelective;
  if (choice.layers_per_block > 1) parts.layers_per_block = choice.layers_per_block;
  parts.norm_outputs |= choice.norm_outputs;
  parts.activation_function |= choice.activation_function;
  parts.latent_up_projections |= choice.latent_projections;
}

void ApplyTo(const LayoutChoice& choice, int64_t layer_count, RunSpec& run) {
  RunLayout& layout = *run.layout;
  ParallelLayout& sizes = layout.parallel;
  sizes.tensor_parallel_size = choice.tensor;
  sizes.pipeline_parallel_size = choice.pipeline;
  sizes.virtual_stage_count = choice.virtual_stages;
  sizes.expert_parallel_size = choice.expert;
  sizes.expert_tensor_parallel_size = choice.expert_tensor;
  layout.context_parallel_size = choice.context;
  layout.micro_batch_size = choice.micro_batch;
  layout.sequence_parallel = choice.sequence_parallel;
  layout.schedule = choice.schedule;
  layout.zero_stage = choice.zero_stage;
  layout.sharding.shard_group_size = choice.shard_group;
  layout.interleaving_given = true;
  run.training.recompute_given = true;
  if (choice.stays_gathered) layout.reshard_after_forward = false;
  ApplyTo(choice.recompute, run);
  if (layout.given.layers_per_chunk) return;
  sizes.layers_per_chunk.clear();
  const int64_t chunks = ChunkCount(sizes);
  if (layer_count % chunks == 0) return;
  sizes.layers_per_chunk.assign(static_cast<size_t>(chunks), layer_count / chunks);
  const int64_t rest = layer_count % chunks;
  for (int64_t i = 1; i <= rest; ++i) ++sizes.layers_per_chunk[static_cast<size_t>(i % chunks)];
}

double GuessOf(const LayoutChoice& choice, const LayoutSpace& space) {
  const double ranks = static_cast<double>(choice.tensor) * choice.pipeline * choice.context;
  const double data = static_cast<double>(space.device_count) / ranks;
  const double count = static_cast<double>(space.batch) / (data * choice.micro_batch);
  const double bubble = (choice.pipeline - 1) / (count * choice.virtual_stages);
  double losses = 0.01 * choice.recompute.norm_outputs +
                  0.01 * choice.recompute.activation_function +
                  0.04 * choice.recompute.attention_core +
                  0.04 * choice.recompute.latent_projections + 0.32 * choice.recompute.full;
  losses += 0.04 * std::log2(choice.tensor) + 0.03 * std::log2(choice.context);
  losses += 0.03 * std::log2(choice.expert) + 0.01 * std::log2(choice.virtual_stages);
  if (choice.tensor > 1 && !choice.sequence_parallel) losses += 0.05;
  if (choice.zero_stage == ZeroStage::kParameters && choice.pipeline > 1) losses += 0.2 * count;
  return (1 + bubble) * (1 + losses);
}

}  // namespace sextant
