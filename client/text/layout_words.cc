#include "client/text/layout_words.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

int ZeroOf(const v1::RunLayout& layout) {
  return static_cast<int>(layout.sharding().zero_stage()) - v1::ZERO_STAGE_NONE;
}

void AddRecomputeFlags(const v1::LayoutOption& option, std::vector<std::string>& out) {
  const auto& kernels = option.layout().kernels();
  const bool full = option.recompute() == v1::RECOMPUTE_POLICY_FULL;
  const bool selective = option.recompute() == v1::RECOMPUTE_POLICY_SELECTIVE;
  out.push_back(absl::StrCat("--recompute=", full ? "full" : selective ? "selective" : "none"));
  if (full && kernels.recomputed_layers_per_block() > 1) {
    out.push_back(absl::StrCat("--recompute-block=", kernels.recomputed_layers_per_block()));
  }
  const auto add = [&out](bool is_on, absl::string_view flag) {
    if (is_on) out.push_back(absl::StrCat(flag, "=true"));
  };
  add(kernels.recompute_norm_outputs(), "--recompute-norm-outputs");
  add(kernels.recompute_activation_function(), "--recompute-activation-function");
  add(kernels.recompute_latent_up_projections(), "--recompute-latent-up-projections");
}

// "8 micro-batches", "1 sequence".
std::string Times(int64_t count, const char* one, const char* many) {
  return absl::StrCat(Grouped(count), " ", count == 1 ? one : many);
}

}  // namespace

std::string ScheduleWords(const v1::RunLayout& layout) {
  switch (layout.schedule()) {
    case v1::PIPELINE_SCHEDULE_GPIPE:
      return "gpipe";
    case v1::PIPELINE_SCHEDULE_ZERO_BUBBLE_H1:
      return "zb-h1";
    case v1::PIPELINE_SCHEDULE_ZERO_BUBBLE_H2:
      return "zb-h2";
    case v1::PIPELINE_SCHEDULE_DUALPIPE:
      return "dualpipe";
    default:
      return "1f1b";
  }
}

bool IsOffloaded(const v1::LayoutOption& option) {
  return option.layout().sharding().offload_optimizer();
}

bool KeepsWeights(const v1::LayoutOption& option) {
  const v1::StateSharding& sharding = option.layout().sharding();
  return sharding.has_reshard_after_forward() && !sharding.reshard_after_forward();
}

std::string ShardingWords(const v1::LayoutOption& option) {
  const v1::StateSharding& sharding = option.layout().sharding();
  const int64_t group = sharding.shard_group_size();
  return absl::StrCat(ZeroOf(option.layout()), group > 0 ? absl::StrCat(" by ", group) : "",
                      KeepsWeights(option) ? " keep" : "",
                      sharding.offload_parameters()  ? " off+w"
                      : sharding.offload_optimizer() ? " off"
                                                     : "");
}

std::string KernelWords(const v1::LayoutOption& option) {
  const v1::KernelChoices& kernels = option.layout().kernels();
  if (kernels.attention() == 0 || kernels.loss() == 0) return "";
  return absl::StrCat(EnumName(kernels.attention()), ", ", EnumName(kernels.loss()));
}

std::string RecomputeWords(const v1::LayoutOption& option) {
  const auto& kernels = option.layout().kernels();
  if (option.recompute() == v1::RECOMPUTE_POLICY_FULL) {
    const int64_t layers = kernels.recomputed_layers_per_block();
    return layers > 1 ? absl::StrCat("full by ", layers) : "full";
  }
  std::vector<absl::string_view> parts;
  if (option.recompute() == v1::RECOMPUTE_POLICY_SELECTIVE) parts.push_back("selective");
  if (kernels.recompute_norm_outputs()) parts.push_back("norms");
  if (kernels.recompute_activation_function()) parts.push_back("activations");
  if (kernels.recompute_latent_up_projections()) parts.push_back("latents");
  return parts.empty() ? "none" : absl::StrJoin(parts, "+");
}

std::string LayoutName(const v1::LayoutOption& option, int64_t device_count) {
  const v1::RunLayout& layout = option.layout();
  const v1::ParallelLayout& sizes = layout.parallel();
  const int64_t tensor = std::max<int64_t>(1, sizes.tensor_parallel_size());
  const int64_t context = std::max<int64_t>(1, layout.context_parallel_size());
  const int64_t pipeline = std::max<int64_t>(1, sizes.pipeline_parallel_size());
  std::vector<std::string> out = {absl::StrCat("tp ", tensor)};
  const auto add = [&out](absl::string_view name, int64_t size) {
    if (size > 1) out.push_back(absl::StrCat(name, " ", size));
  };
  if (layout.sequence_parallel()) out.push_back("sp");
  add("cp", context);
  out.push_back(absl::StrCat("pp ", pipeline));
  add("vpp", sizes.virtual_stage_count());
  add("ep", sizes.expert_parallel_size());
  add("etp", sizes.expert_tensor_parallel_size());
  // One after the other: their product may overflow.
  out.push_back(absl::StrCat("dp ", device_count / tensor / context / pipeline));
  if (ZeroOf(layout) > 0 || IsOffloaded(option)) {
    out.push_back(absl::StrCat("zero ", ShardingWords(option)));
  }
  out.push_back(absl::StrCat("mbs ", std::max<int64_t>(1, layout.micro_batch_size())));
  if (ScheduleWords(layout) != "1f1b") out.push_back(ScheduleWords(layout));
  if (!KernelWords(option).empty()) out.push_back(KernelWords(option));
  return absl::StrJoin(out, " ");
}

std::string LayoutFlags(const v1::LayoutOption& option) {
  const v1::RunLayout& layout = option.layout();
  const v1::ParallelLayout& sizes = layout.parallel();
  std::vector<std::string> out = {absl::StrCat("--tp=", sizes.tensor_parallel_size())};
  const auto add = [&](absl::string_view flag, auto value) {
    out.push_back(absl::StrCat(flag, "=", value));
  };
  if (sizes.tensor_parallel_size() > 1) add("--sp", layout.sequence_parallel() ? "true" : "false");
  add("--cp", layout.context_parallel_size());
  add("--pp", sizes.pipeline_parallel_size());
  add("--vpp", sizes.virtual_stage_count());
  if (sizes.layers_per_chunk_size() > 0) {
    add("--layers-per-chunk", absl::StrJoin(sizes.layers_per_chunk(), "x"));
  }
  if (sizes.expert_parallel_size() > 1) add("--ep", sizes.expert_parallel_size());
  if (sizes.has_expert_tensor_parallel_size()) add("--etp", sizes.expert_tensor_parallel_size());
  add("--zero", ZeroOf(layout));
  const int64_t group = layout.sharding().shard_group_size();
  if (group > 0) add("--shard-group-size", group);
  if (layout.sharding().has_reshard_after_forward()) {
    add("--reshard-after-forward", layout.sharding().reshard_after_forward() ? "true" : "false");
  }
  if (layout.sharding().offload_optimizer()) add("--offload-optimizer", "true");
  if (layout.sharding().offload_parameters()) add("--offload-parameters", "true");
  add("--mbs", layout.micro_batch_size());
  AddRecomputeFlags(option, out);
  if (ScheduleWords(layout) != "1f1b") add("--schedule", ScheduleWords(layout));
  const v1::KernelChoices& kernels = layout.kernels();
  if (!KernelWords(option).empty()) {
    add("--attention", EnumName(kernels.attention()));
    add("--loss", EnumName(kernels.loss()));
  }
  return absl::StrJoin(out, " ");
}

const v1::RunLayout& PlannedLayout(const v1::PlanRunRequest& request, const v1::Plan& plan) {
  return plan.has_search() ? plan.search().chosen().layout() : request.layout();
}

std::string LayoutWords(const v1::RunLayout& layout, const v1::Memory& memory) {
  const v1::ParallelLayout& parallel = layout.parallel();
  const auto size = [](bool given, int64_t value) { return given ? value : 1; };
  std::vector<std::string> sizes;
  const auto add = [&sizes](const char* name, int64_t value) {
    if (value != 1) sizes.push_back(absl::StrCat(name, " ", Grouped(value)));
  };
  add("tensor", size(parallel.has_tensor_parallel_size(), parallel.tensor_parallel_size()));
  add("pipeline",
      memory.stages().empty()  // of a BASIC view
          ? size(parallel.has_pipeline_parallel_size(), parallel.pipeline_parallel_size())
          : memory.stages_size());
  add("context", size(layout.has_context_parallel_size(), layout.context_parallel_size()));
  add("data", memory.data_parallel_size());
  const int64_t expert = size(parallel.has_expert_parallel_size(), parallel.expert_parallel_size());
  const int64_t chunks = size(parallel.has_virtual_stage_count(), parallel.virtual_stage_count());
  const int64_t sequences = size(layout.has_micro_batch_size(), layout.micro_batch_size());
  return absl::StrCat(sizes.empty() ? "one GPU holds all" : absl::StrJoin(sizes, " x "),
                      expert > 1 ? absl::StrCat(", experts over ", Grouped(expert), " ranks") : "",
                      chunks > 1 ? absl::StrCat(", ", Grouped(chunks), " chunks a stage") : "",
                      "; a step is ",
                      Times(memory.micro_batch_count(), "micro-batch", "micro-batches"), " of ",
                      Times(sequences, "sequence", "sequences"),
                      layout.has_global_batch_size() ? "" : ", since no --gbs is given");
}

}  // namespace sextant::client
