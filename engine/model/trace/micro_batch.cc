#include "engine/model/trace/micro_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

constexpr int64_t kMaxLength = 1'000'000'000;
constexpr int64_t kMaxSequences = 1'000'000'000;
constexpr int64_t kMaxContextParallelSize = 65'536;
constexpr double kMaxLoadFactor = 1e6;

bool HasExperts(const ArchitectureSpec& spec) {
  return std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                     [](const LayerSpec& layer) { return layer.experts.has_value(); });
}

bool HasLatents(const ArchitectureSpec& spec) {
  return std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(), [](const LayerSpec& layer) {
    return layer.attention.has_value() && layer.attention->latent.has_value();
  });
}

constexpr absl::string_view kLayout = "layout";
constexpr absl::string_view kKernels = "layout.kernels";
constexpr absl::string_view kTraining = "training";

class MicroBatchCheck {
 public:
  MicroBatchCheck(const MicroBatchSpec& batch, const ArchitectureSpec& spec,
                  const ParallelLayout& layout, FieldViolations& violations)
      : batch_(batch), spec_(spec), layout_(layout), violations_(violations) {}

  void CheckLengths() {
    violations_.Require(kLayout, "micro_batch_size", batch_.sequence_count, 1, kMaxSequences);
    violations_.Require(kLayout, "context_parallel_size", batch_.context_parallel_size, 1,
                        kMaxContextParallelSize);
    const bool two_stacks = !spec_.encoder.layers.empty() && !spec_.decoder.layers.empty();
    const StackSpec& output = spec_.decoder.layers.empty() ? spec_.encoder : spec_.decoder;
    CheckLength("sequence_length", batch_.sequence_length, output);
    if (two_stacks) {
      CheckLength("encoder_sequence_length", batch_.encoder_sequence_length, spec_.encoder);
    } else if (batch_.encoder_sequence_length != 0) {
      Add(kTraining, "encoder_sequence_length",
          "is of a model with an encoder and a decoder: leave it out");
    }
  }

  void CheckDataTypes() {
    const DataType compute = batch_.compute_data_type;
    if (IsOfMatricesAlone(compute)) {
      Add(kTraining, "precision.compute_data_type",
          absl::StrCat(DataTypeName(compute),
                       " is not what norms and attention compute in: write BF16, FP16, TF32, FP32 "
                       "or FP64, and a narrower one in matmul_input_data_type"));
    }
    const DataType input = batch_.matmul_input_data_type;
    if (input == DataType::kUnspecified) return;
    if (!IsStorageType(input)) {
      Add("matmul_input_data_type",
          absl::StrCat(DataTypeName(input),
                       " is not accounted for as a storage format: write FP8, FP8_E4M3, FP8_E5M2, "
                       "BF16, FP16, FP32 or FP64"));
    } else if (StorageBytes(compute) >= 2 && StorageBytes(input) > StorageBytes(compute)) {
      Add("matmul_input_data_type",
          absl::StrCat("must not be wider than compute_data_type (", DataTypeName(compute),
                       "), which ", DataTypeName(input), " is"));
    }
  }

  void CheckRecomputation() {
    const Recomputation& again = batch_.recomputation;
    violations_.Require(kKernels, "recomputed_layers_per_block", again.layers_per_block, 1,
                        kMaxLayerCount);
    if (again.latent_up_projections && !HasLatents(spec_)) {
      Add("recompute_latent_up_projections",
          "is of latent attention, which the model has not: leave it out");
    }
    if (again.policy != RecomputePolicy::kFull && again.layers_per_block > 1) {
      Add("recomputed_layers_per_block",
          "is of full recomputation: leave it out, or choose that policy");
    }
    if (again.policy == RecomputePolicy::kOperators &&
        batch_.attention == AttentionKernel::kUnfused) {
      Add("attention",
          "is unfused, whose scores recomputation by operator does not save: choose "
          "FLASH, or another policy");
    }
    if (!RepeatsLayers(again.policy)) return;
    const struct {
      bool given;
      absl::string_view name;
    } switches[] = {{again.activation_function, "recompute_activation_function"},
                    {again.norm_outputs, "recompute_norm_outputs"},
                    {again.latent_up_projections, "recompute_latent_up_projections"}};
    for (const auto& s : switches) {
      if (!s.given) continue;
      Add(s.name, "is part of that of layers already: leave it out");
    }
  }

  void CheckLoss() {
    if (batch_.loss == LossKind::kChunked) {
      violations_.Require(kKernels, "loss_chunk_tokens", batch_.loss_chunk_tokens, 1, kMaxLength);
    } else if (batch_.loss_chunk_tokens != 0) {
      Add("loss_chunk_tokens", "is of a chunked loss: leave it out, or choose that loss");
    }
  }

  void CheckAttention() {
    if (!batch_.attention_output_copied || batch_.attention == AttentionKernel::kFlash) return;
    Add("attention_output_copied", "is of fused attention: leave it out");
  }

  // Each rank gets as many query heads, and as many key and value heads or a copy of one.
  // Source: deepspeedai/DeepSpeed, deepspeed/runtime/sequence_parallel/ulysses_sp.py @016d2f70.
  void CheckHeads() {
    if (!ExchangesHeads(batch_)) return;
    if (batch_.recomputation.latent_up_projections) {
      Add("recompute_latent_up_projections",
          "saves nothing where context parallel ranks exchange heads, which are kept: "
          "leave it out, or choose a ring");
    }
    for (const LayerSpec& layer : spec_.layer_kinds) {
      for (const auto* const attention : {&layer.attention, &layer.cross_attention}) {
        if (attention->has_value() && !CheckHeads(**attention)) return;
      }
    }
  }

  // Context parallel ranks exchange the heads of mixers, whatever they do with attention.
  // Source: NVIDIA/Megatron-LM, megatron/core/ssm/mamba_context_parallel.py.
  void CheckMixers() {
    const int64_t context = batch_.context_parallel_size;
    if (context <= 1 || layout_.tensor_parallel_size < 1) return;
    for (const LayerSpec& layer : spec_.layer_kinds) {
      if (!layer.mixer.has_value()) continue;
      const int64_t all = HasHeads(*layer.mixer) ? layer.mixer->head_count : spec_.hidden_size;
      const int64_t heads = all / layout_.tensor_parallel_size;
      if (heads < 1 || heads % context == 0) continue;
      return Add(kLayout, "context_parallel_size",
                 absl::StrCat("must divide the ", heads,
                              " heads that a tensor parallel rank has of a mixer, since ranks "
                              "exchange them, which ",
                              context, " does not: write ", std::gcd(heads, context)));
    }
  }

  void CheckAdapters() {
    if (!batch_.adapter_dropout || spec_.adapters.has_value()) return;
    Add("adapter_dropout", "is of adapters: leave it out");
  }

  void CheckExperts() {
    const bool gathers = batch_.expert_dispatch == ExpertDispatch::kAllGather;
    if (HasExperts(spec_)) {
      if (gathers && batch_.expert_scaling == ExpertScaling::kAfterDown) {
        Add("expert_dispatch",
            "gathers tokens for experts whose outputs were scaled before: leave out "
            "expert_scaling, or choose ALL_TO_ALL");
      }
      violations_.RequireRange(kKernels, "expert_load_factor", batch_.expert_load_factor,
                               {.low = 1, .high = kMaxLoadFactor});
      return;
    }
    constexpr absl::string_view kNoExperts = "is of a mixture of experts: leave it out";
    if (batch_.expert_load_factor != 1) Add("expert_load_factor", kNoExperts);
    if (batch_.expert_scaling != ExpertScaling::kBeforeDown) Add("expert_scaling", kNoExperts);
    if (!batch_.fused_expert_activation) Add("fused_expert_activation", kNoExperts);
    if (gathers) Add("expert_dispatch", kNoExperts);
  }

 private:
  void Add(absl::string_view name, absl::string_view description) {
    Add(kKernels, name, description);
  }
  void Add(absl::string_view path, absl::string_view name, absl::string_view description) {
    violations_.Add(FieldPath(path, name), description);
  }

  // False: an error was added.
  bool CheckHeads(const AttentionSpec& attention) {
    const auto [query_heads, key_heads] = HeadsOfRank(attention, layout_);
    const int64_t heads = query_heads;
    if (heads < 1) return true;  // reported elsewhere, against tensor_parallel_size
    const auto fits = [heads, key_heads = key_heads](int64_t size) {
      return heads % size == 0 && (key_heads % size == 0 || size % key_heads == 0);
    };
    const int64_t context = batch_.context_parallel_size;
    if (fits(context)) return true;
    int64_t fitting = std::min(context, heads);
    while (!fits(fitting)) --fitting;
    Add(kLayout, "context_parallel_size",
        absl::StrCat("must divide the ", heads,
                     " query heads and divide, or be a multiple of, the ", key_heads,
                     " key and value heads of a tensor parallel rank, since ranks "
                     "exchange heads, which ",
                     context, " does not: write ", fitting, ", or choose a ring"));
    return false;
  }

  // All ranks that share a sequence hold equal parts of it.
  void CheckLength(absl::string_view name, int64_t length, const StackSpec& stack) {
    const int64_t positions = stack.learned_position_count;
    const int64_t most = positions > 0 ? std::min(positions, kMaxLength) : kMaxLength;
    const size_t faults = violations_.found_count();
    violations_.Require(kTraining, name, length, 1, most);
    if (violations_.found_count() > faults || batch_.context_parallel_size < 1) return;
    const int64_t context = batch_.context_parallel_size;
    if (length % context != 0) {
      Add(kTraining, name,
          absl::StrCat("must be a multiple of context_parallel_size (", context, "), which ",
                       length, " is not"));
      return;
    }
    const int64_t tensor = SequenceRanks(batch_, layout_);
    if (length / context % tensor == 0) return;
    Add(kTraining, name,
        absl::StrCat("must be a multiple of context_parallel_size times tensor_parallel_size "
                     "(",
                     context, " x ", tensor,
                     "), since sequence_parallel cuts it among "
                     "both, which ",
                     length, " is not"));
  }

  const MicroBatchSpec& batch_;
  const ArchitectureSpec& spec_;
  const ParallelLayout& layout_;
  FieldViolations& violations_;
};

}  // namespace

int64_t AttendedKeyHeads(const AttentionSpec& attention, const ParallelLayout& layout,
                         const MicroBatchSpec& batch) {
  const int64_t own = HeadsOfRank(attention, layout).key;
  return ExchangesHeads(batch) ? std::max(own, batch.context_parallel_size) : own;
}

// Each group of tensor parallel ranks that together hold all experts brings its own tokens:
//   k s/c x_t/t slots per GPU and sequence, times the load factor
// where x_t ranks share an expert and see the same slots. Rounded up per sequence.
// Source: derived in docs/memory.md, "A layer"; x_t = t = 1 is k s, as SimuMax and llm-analysis
// have it.
CheckedInt ExpertSlotsPerSequence(const ExpertsSpec& experts, const ParallelLayout& layout,
                                  const MicroBatchSpec& batch, int64_t length) {
  const int64_t ranks = layout.tensor_parallel_size;
  const CheckedInt shared = CheckedInt(experts.experts_per_token) *
                            (length / batch.context_parallel_size) *
                            ExpertTensorParallelSize(layout);
  if (!shared.ok()) return shared;
  if (batch.expert_load_factor == 1) return CeilDivide(shared.value(), ranks);
  const double slots = std::ceil(static_cast<double>(shared.value()) / static_cast<double>(ranks) *
                                 batch.expert_load_factor);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (slots >= static_cast<double>(kMax)) return CheckedInt(kMax) * 2;
  return static_cast<int64_t>(slots);
}

void CheckMicroBatch(const MicroBatchSpec& batch, const ArchitectureSpec& spec,
                     const ParallelLayout& layout, FieldViolations& violations) {
  MicroBatchCheck check(batch, spec, layout, violations);
  check.CheckLengths();
  check.CheckDataTypes();
  check.CheckRecomputation();
  check.CheckLoss();
  check.CheckAttention();
  check.CheckHeads();
  check.CheckMixers();
  check.CheckAdapters();
  check.CheckExperts();
}

}  // namespace sextant
