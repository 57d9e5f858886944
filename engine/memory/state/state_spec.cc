#include "engine/memory/state/state_spec.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/architecture/check_architecture.h"

namespace sextant {
namespace {

constexpr int64_t kMaxFp8Copies = 2;

bool HasExperts(const ArchitectureSpec& spec) {
  return std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                     [](const LayerSpec& layer) { return layer.experts.has_value(); });
}

bool HasFrozenLayers(const ArchitectureSpec& spec) {
  const auto frozen = [](const LayerRun& run) { return run.frozen; };
  return spec.base_frozen || !spec.frozen_components.empty() ||
         std::any_of(spec.encoder.layers.begin(), spec.encoder.layers.end(), frozen) ||
         std::any_of(spec.decoder.layers.begin(), spec.decoder.layers.end(), frozen);
}

class StateCheck {
 public:
  StateCheck(const StateSpec& state, const ArchitectureSpec& spec, const ParallelLayout& layout,
             FieldViolations& violations)
      : state_(state), spec_(spec), layout_(layout), violations_(violations) {}

  // CheckPolicy() checks policies as given. With its defaults filled in, one has an optimizer
  // format even where the optimizer keeps no buffers of it.
  void CheckFormats() {
    PrecisionPolicy given = state_.precision;
    const OptimizerKind kind = state_.optimizer.kind;
    const bool formless = kind == OptimizerKind::kSgd || kind == OptimizerKind::kAdam8bit;
    if (formless && given.optimizer_data_type == DataType::kFp32) {
      given.optimizer_data_type = DataType::kUnspecified;
    }
    CheckPolicy(given, state_.optimizer, "training", violations_);
    RequireGiven("training.precision.compute_data_type", state_.precision.compute_data_type);
    RequireGiven("training.precision.weight_data_type", state_.precision.weight_data_type);
    RequireGiven("training.precision.gradient_data_type", state_.precision.gradient_data_type);
    RequireGiven("training.precision.optimizer_data_type", state_.precision.optimizer_data_type);
  }

  void CheckSharding(int64_t context_parallel_size) {
    const size_t faults = violations_.found_count();
    violations_.Require("", "cluster.device_count", state_.sharding.data_parallel_size, 1,
                        kMaxDataParallelSize);
    violations_.RequireRange("", "layout.sharding.prefetched_unit_count",
                             state_.sharding.prefetched_unit_count, 0, kMaxLayerCount);
    if (violations_.found_count() > faults) return;
    // Reported elsewhere, against context_parallel_size.
    constexpr int64_t kMaxRanks = int64_t{1} << 40;
    const CheckedInt ranks = CheckedInt(state_.sharding.data_parallel_size) * context_parallel_size;
    if (!ranks.ok() || ranks.value() > kMaxRanks) return;
    CheckGroup(ranks.value());
    CheckSecondaryGroup(ranks.value());
    if (violations_.found_count() == faults) CheckExpertGroup(ranks.value());
  }

  void CheckZeroOptions() {
    const StateSharding& s = state_.sharding;
    if (s.zero_stage == ZeroStage::kNone && s.shard_group_size != 0) {
      Add("layout.sharding.shard_group_size",
          "is of ZeRO stages 1 to 3: leave it out, or choose one of these");
    }
    constexpr absl::string_view kOfStageThree =
        "is of ZeRO stage 3, which gathers weights: leave it out, or choose that stage";
    if (!DividesParameters(s)) {
      const StateSharding defaults;
      const struct {
        bool given;
        absl::string_view name;
      } options[] = {{!s.reshard_after_forward, "layout.sharding.reshard_after_forward"},
                     {s.prefetched_unit_count != defaults.prefetched_unit_count,
                      "layout.sharding.prefetched_unit_count"},
                     {s.secondary_group_size != 0, "layout.sharding.secondary_group_size"},
                     {s.offload_parameters, "layout.sharding.offload_parameters"}};
      for (const auto& option : options) {
        if (option.given) Add(option.name, kOfStageThree);
      }
    } else if (!s.reshard_after_forward && s.prefetched_unit_count != 1) {
      Add("layout.sharding.prefetched_unit_count",
          "does not matter where gathered weights stay: leave it out, or set "
          "reshard_after_forward");
    }
    if (s.offload_parameters && !s.offload_optimizer) {
      Add("layout.sharding.offload_parameters",
          "needs offload_optimizer: the optimizer updates weights where they are");
    }
  }

  void CheckOptimizer() {
    const StateSharding& s = state_.sharding;
    if (state_.optimizer.kind == OptimizerKind::kGalore && s.zero_stage != ZeroStage::kNone) {
      Add("layout.sharding.zero_stage",
          "divides matrices, and KIND_GALORE projects whole ones: write ZERO_STAGE_NONE, or "
          "another "
          "training.optimizer.kind");
    }
    if (state_.optimizer.in_backward && s.offload_optimizer) {
      Add("layout.sharding.offload_optimizer",
          "does not go with training.optimizer.in_backward, whose steps are the GPU's: leave one "
          "out");
    }
  }

  void CheckFrozen() {
    const FrozenWeightFormat& f = state_.frozen;
    if (f.data_type == DataType::kUnspecified) {
      constexpr absl::string_view kOfFormat =
          "is of quantised weights: leave it out, or give their data type";
      if (f.block_size != 0) Add("layout.storage.frozen_block_size", kOfFormat);
      if (f.double_quantization) {
        Add("layout.storage.double_quantization", kOfFormat);
      }
      return;
    }
    const bool four_bits = f.data_type == DataType::kFp4 || f.data_type == DataType::kInt4;
    if (!four_bits && f.data_type != DataType::kInt8) {
      Add("layout.storage.frozen_data_type",
          absl::StrCat(DataTypeName(f.data_type),
                       " is not what frozen weights are quantised to: write INT8, "
                       "INT4 or FP4 (NF4)"));
    } else if (f.double_quantization && !four_bits) {
      Add("layout.storage.double_quantization",
          "is of 4-bit weights: leave it out, or write INT4 or FP4");
    }
    if (f.block_size != 0) {
      violations_.RequireRange("", "layout.storage.frozen_block_size", f.block_size,
                               kMinQuantizedBlockSize, kMaxQuantizedBlockSize);
    }
    if (!HasFrozenLayers(spec_)) {
      Add("layout.storage.frozen_data_type",
          "is of frozen weights, which the model has none of: leave it out");
    }
  }

  void CheckFp8() {
    violations_.RequireRange("", "layout.storage.fp8_weight_copies", state_.fp8_weight_copies, 0,
                             kMaxFp8Copies);
    const bool copies = state_.fp8_weight_copies > 0;
    const bool weights = StorageBytes(state_.precision.weight_data_type) == 1;
    if (state_.weight_scaling != WeightScaling::kNone && !copies && !weights) {
      Add("layout.storage.scaling",
          "is of fp8 weights and of fp8 copies: leave it out, or choose these");
    }
    if (copies && weights) {
      Add("layout.storage.fp8_weight_copies",
          "are of wider weights, and these are fp8 themselves: leave it out");
    }
    if (copies && DividesParameters(state_.sharding)) {
      Add("layout.storage.fp8_weight_copies",
          "are not kept with weights that ZeRO stage 3 gathers anew: leave it out");
    }
  }

 private:
  void Add(absl::string_view name, absl::string_view description) {
    violations_.Add(std::string(name), description);
  }

  void RequireGiven(absl::string_view name, DataType type) {
    if (type != DataType::kUnspecified) return;
    Add(name, "is required: fill in the policy's defaults");
  }

  void CheckGroup(int64_t ranks) {
    const int64_t group = state_.sharding.shard_group_size;
    if (state_.sharding.zero_stage == ZeroStage::kNone && group != 0) return;  // reported elsewhere
    if (group >= 0 && group <= ranks && (group == 0 || ranks % group == 0)) return;
    Add("layout.sharding.shard_group_size",
        absl::StrCat("must divide data_parallel_size times context_parallel_size (", ranks,
                     "), which ", group, " does not"));
  }

  void CheckSecondaryGroup(int64_t ranks) {
    const StateSharding& s = state_.sharding;
    const int64_t shard = s.shard_group_size > 0 ? s.shard_group_size : ranks;
    const int64_t group = s.secondary_group_size;
    if (group == 0 || (group > 0 && group <= shard && shard % group == 0)) return;
    Add("layout.sharding.secondary_group_size",
        absl::StrCat("must divide the ranks of a shard (", shard, "), which ", group, " does not"));
  }

  // The GPUs of a shard group must hold each part of the experts equally often; else some hold
  // more.
  void CheckExpertGroup(int64_t ranks) {
    if (!HasExperts(spec_)) return;
    const int64_t given = state_.sharding.shard_group_size;
    const int64_t gpus = (given == 0 ? ranks : given) * layout_.tensor_parallel_size;
    const int64_t holders = layout_.expert_parallel_size * ExpertTensorParallelSize(layout_);
    if (gpus % holders == 0) return;
    Add(given == 0 ? "cluster.device_count" : "layout.sharding.shard_group_size",
        absl::StrCat("leaves ", gpus, " GPUs of a stage to share the experts, which ", holders,
                     " (expert_parallel_size times expert_tensor_parallel_size) do not divide"));
  }

  const StateSpec& state_;
  const ArchitectureSpec& spec_;
  const ParallelLayout& layout_;
  FieldViolations& violations_;
};

}  // namespace

void CheckStateSpec(const StateSpec& state, const ArchitectureSpec& spec,
                    const ParallelLayout& layout, int64_t context_parallel_size,
                    FieldViolations& violations) {
  StateCheck check(state, spec, layout, violations);
  check.CheckFormats();
  check.CheckSharding(context_parallel_size);
  check.CheckZeroOptions();
  check.CheckOptimizer();
  check.CheckFrozen();
  check.CheckFp8();
}

}  // namespace sextant
