#include "tests/validation/step_layout.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "tests/validation/cells.h"

namespace sextant {
namespace {

constexpr int64_t kMostChunks = 12;
constexpr int64_t kNodeSize = 8;
constexpr int64_t kPaxShard = 128;  // MaxText's group on the same pages

// flash-attention 2 on Hopper, which PyTorch's stacks run: docs/frameworks.md, "Software stacks",
// pytorch_fsdp.
constexpr double kFlashAttention2Ratio = 2.1;
// An exchange that passes hide still takes from them what it does of theirs: the stacks'
// overlap_contention.
constexpr double kHiddenExposure = 0.55;
// megatron_lm's expert_layer_host_seconds, megatron_bridge's on Blackwell, and near the median of
// published runs that overlap exchanges of experts: two layers in turn take the host longer.
constexpr double kEagerSeconds = 9.2e-3;
constexpr double kGraphedSeconds = 4.8e-3;
constexpr double kOverlappedSeconds = 12e-3;

bool IsAny(absl::string_view stack, std::initializer_list<absl::string_view> names) {
  return std::find(names.begin(), names.end(), stack) != names.end();
}

// "FSDP group 128", "ZeRO-1, shard group 8", "FSDP 256": 0 for all of them.
int64_t ShardGroupOf(const std::string& strategy) {
  const size_t at = strategy.rfind(' ');
  int64_t out = 0;
  const bool named = absl::StrContains(strategy, "group") || absl::StartsWith(strategy, "FSDP ");
  if (!named || at == std::string::npos || !absl::SimpleAtoi(strategy.substr(at + 1), &out)) {
    return 0;
  }
  return out;
}

void SetSharding(const StepLayoutSource& source, const StepLayout& layout, v1::StateSharding& out) {
  const std::string strategy = Cell(*source.row, "dp_strategy");
  const auto stage = WholeCell(*source.row, "zero_stage");
  const bool whole = stage == 3 || absl::StrContains(strategy, "FSDP");
  if (whole) {
    out.set_zero_stage(v1::ZERO_STAGE_PARAMETERS);
  } else if (stage == 0 || strategy == "DDP" || source.software->stack == "pytorch_ddp") {
    out.set_zero_stage(v1::ZERO_STAGE_NONE);
  } else {
    out.set_zero_stage(v1::ZERO_STAGE_OPTIMIZER);
  }
  if (absl::StrContains(strategy, "SHARD_GRAD_OP")) out.set_reshard_after_forward(false);
  const int64_t ranks = layout.data * layout.context;
  int64_t group = ShardGroupOf(strategy);
  if (strategy == "HSDP") group = kNodeSize;
  if (strategy == "FSDP+DP") group = kPaxShard;
  if (group > 0 && group < ranks && ranks % group == 0) out.set_shard_group_size(group);
}

void SetKernels(const StepLayoutSource& source, v1::RunLayout& out) {
  v1::KernelChoices& kernels = *out.mutable_kernels();
  const StepSoftware& software = *source.software;
  const StepRecipe& recipe = source.recipe;
  if (software.unfused_attention || recipe.unfused_attention) {
    kernels.set_attention(v1::KernelChoices::ATTENTION_UNFUSED);
  }
  kernels.set_dropout(software.dropout || source.model->dropout);
  kernels.set_loss(recipe.loss);
  kernels.set_recompute_activation_function(recipe.recomputes_activations);
  kernels.set_recompute_norm_outputs(recipe.recomputes_norms);
  kernels.set_recompute_latent_up_projections(recipe.recomputes_latent);
  v1::FrameworkMemory& framework = *out.mutable_framework();
  framework.set_kind(software.kind);
  if (source.model->experts) framework.set_grouped_experts(true);
  framework.set_captured_graphs(recipe.captured_graphs);
}

// What the recipe makes of the stack's constants.
void SetSoftware(const StepLayoutSource& source, v1::SoftwareStack& out) {
  const StepRecipe& recipe = source.recipe;
  out.set_name(std::string(source.software->stack));
  if (recipe.flash_attention_2) out.set_attention_time_ratio(kFlashAttention2Ratio);
  if (recipe.all_to_all) out.set_one_copy_per_node(0);
  if (recipe.overlaps_experts) out.set_expert_exchange_exposure(kHiddenExposure);
  if (source.software->name == "Megatron-Bridge" && source.model->experts) {
    out.set_expert_layer_host_seconds(recipe.overlaps_experts ? kOverlappedSeconds
                                      : recipe.partial_graphs ? kGraphedSeconds
                                                              : kEagerSeconds);
  }
}

void SetChunks(const StepLayoutSource& source, const StepLayout& layout, v1::ParallelLayout& out) {
  const int64_t chunks = layout.stages * layout.chunks;
  out.set_pipeline_parallel_size(layout.stages);
  if (layout.chunks > 1) out.set_virtual_stage_count(layout.chunks);
  if (chunks == 1 || source.model->layer_count % chunks == 0) return;
  const int64_t first = source.recipe.fewer_first;
  const int64_t last = source.recipe.fewer_last;
  const int64_t each = (source.model->layer_count + first + last) / chunks;
  const bool published = first + last > 0 && each > std::max(first, last) &&
                         each * chunks == source.model->layer_count + first + last;
  std::vector<int64_t> layers = LayersPerChunk(source.model->layer_count, chunks);
  if (published) {
    std::fill(layers.begin(), layers.end(), each);
    layers.front() -= first;
    layers.back() -= last;
  }
  out.mutable_layers_per_chunk()->Add(layers.begin(), layers.end());
}

bool SequenceParallel(const StepLayoutSource& source) {
  const std::string given = Cell(*source.row, "sequence_parallel");
  if (!given.empty()) return given == "True";
  return !IsAny(source.software->stack,
                {"megatron_deepspeed", "megatron_lm_2022", "internevo", "deepspeed_zero3_2021"});
}

absl::Status CheckDevices(const StepLayout& layout) {
  const int64_t product = layout.data * layout.tensor * layout.stages * layout.context;
  if (product == layout.devices && layout.data >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError("GPUs are not the product of the layout's sizes");
}

// Micro-batches of a rank; a remainder below 1 % is dropped, as BLOOM's trials have it.
absl::Status SetBatch(const StepLayoutSource& source, StepLayout& out,
                      std::vector<std::string>& open) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t batch, RequiredCell(*source.row, "global_batch", "batch"));
  const auto micro = WholeCell(*source.row, "micro_batch");
  out.micro_batch = micro.value_or(1);
  // Megatron-LM of 2020 had no accumulation without a pipeline.
  const std::string framework = Cell(*source.row, "framework");
  const bool whole = framework == "Megatron-LM 2020";
  if (whole) out.micro_batch = std::max<int64_t>(1, batch / out.data);
  const bool printed = whole || framework == "MegaScale" || framework == "DeepSpeed+Megatron";
  if (!micro.has_value() && !printed) open.push_back("micro-batch");
  out.micro_batches = batch / (out.micro_batch * out.data);
  const int64_t used = out.micro_batches * out.micro_batch * out.data;
  if (used < 1 || static_cast<double>(used) < 0.99 * static_cast<double>(batch)) {
    return absl::InvalidArgumentError("the batch is no multiple of the micro-batches");
  }
  return absl::OkStatus();
}

}  // namespace

int64_t BlankChunks(int64_t layer_count, int64_t stages) {
  for (const int64_t layers : {layer_count, layer_count + 2}) {
    for (int64_t chunks = kMostChunks; chunks > 1; --chunks) {
      if (stages > 1 && layers % (stages * chunks) == 0) return chunks;
    }
  }
  return 1;
}

std::vector<int64_t> LayersPerChunk(int64_t layer_count, int64_t chunks) {
  std::vector<int64_t> out(static_cast<size_t>(chunks), layer_count / chunks);
  if ((layer_count + 2) % chunks == 0 && layer_count >= chunks) {
    std::fill(out.begin(), out.end(), (layer_count + 2) / chunks);
    --out.front();
    --out.back();
    return out;
  }
  for (int64_t i = 0; i < layer_count % chunks; ++i) ++out[static_cast<size_t>(i)];
  return out;
}

absl::StatusOr<StepLayout> StepLayoutOf(const StepLayoutSource& source,
                                        std::vector<std::string>& open) {
  const CsvRow& row = *source.row;
  StepLayout out;
  SEXTANT_ASSIGN_OR_RETURN(out.devices, RequiredCell(row, "gpus", "number of GPUs"));
  const bool replicas = out.devices == WholeCell(row, "dp").value_or(out.devices == 1 ? 1 : 0);
  if (!replicas && (Cell(row, "tp").empty() || Cell(row, "pp").empty())) {
    return absl::InvalidArgumentError("layout not published");
  }
  out.tensor = WholeCell(row, "tp").value_or(1);
  out.stages = WholeCell(row, "pp").value_or(1);
  out.context = WholeCell(row, "cp").value_or(1);
  out.data = out.devices / std::max<int64_t>(1, out.tensor * out.stages * out.context);
  SEXTANT_RETURN_IF_ERROR(CheckDevices(out));
  const auto chunks =
      source.recipe.chunks.has_value() ? source.recipe.chunks : WholeCell(row, "vpp");
  const bool blank = !chunks.has_value() && out.stages > 1 &&
                     (source.software->stack == "megatron_bridge" ||
                      absl::StartsWith(Cell(row, "framework"), "Megatron-Core"));
  out.chunks = blank ? BlankChunks(source.model->layer_count, out.stages) : chunks.value_or(1);
  if (blank) open.push_back("interleaving");
  if (out.stages == 1) out.chunks = 1;
  if (source.model->experts) {
    out.experts = WholeCell(row, "ep").value_or(1);
    // NeMo's Grok-1 proxies share an expert among the tensor parallel ranks unless a page says
    // otherwise; Megatron-Bridge's recipes do not.
    const bool shared = source.software->name == "NeMo";
    out.expert_tensor = WholeCell(row, "etp").value_or(shared ? out.tensor : 1);
  }
  SEXTANT_RETURN_IF_ERROR(SetBatch(source, out, open));
  return out;
}

void SetStepLayout(const StepLayoutSource& source, const StepLayout& layout,
                   v1::PlanRunRequest& out) {
  v1::RunLayout& run = *out.mutable_layout();
  v1::ParallelLayout& parallel = *run.mutable_parallel();
  parallel.set_tensor_parallel_size(layout.tensor);
  SetChunks(source, layout, parallel);
  if (source.model->experts) {
    parallel.set_expert_parallel_size(layout.experts);
    parallel.set_expert_tensor_parallel_size(layout.expert_tensor);
  }
  run.set_context_parallel_size(layout.context);
  run.set_sequence_parallel(layout.tensor > 1 && SequenceParallel(source));
  run.set_micro_batch_size(layout.micro_batch);
  run.set_global_batch_size(layout.micro_batch * layout.micro_batches * layout.data);
  SetSharding(source, layout, *run.mutable_sharding());
  SetKernels(source, run);
  SetSoftware(source, *run.mutable_software());
  out.mutable_cluster()->set_device_count(layout.devices);
}

}  // namespace sextant
