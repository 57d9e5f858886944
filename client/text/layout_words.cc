#include "client/text/layout_words.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/text/text.h"
#include "proto/words/layout_sizes.h"

namespace sextant::client {
namespace {

int ZeroOf(const v1::RunLayout& layout) {
  return static_cast<int>(layout.sharding().zero_stage()) - v1::ZERO_STAGE_NONE;
}

void AddRecomputeFlags(const v1::LayoutOption& option, std::vector<std::string>& out) {
  const auto& kernels = option.layout().kernels();
  const bool full = option.recompute() == v1::RECOMPUTE_POLICY_FULL;
  out.push_back(absl::StrCat("--recompute=",
                             EnumName(std::max(option.recompute(), v1::RECOMPUTE_POLICY_NONE))));
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
  if (option.recompute() == v1::RECOMPUTE_POLICY_OPERATORS) return "operators";
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
  const words::LayoutSizes sizes = words::SizesOf(layout);
  std::vector<std::string> out = {absl::StrCat("tp ", sizes.tensor)};
  const auto add = [&out](absl::string_view name, int64_t size) {
    if (size > 1) out.push_back(absl::StrCat(name, " ", size));
  };
  if (layout.sequence_parallel()) out.push_back("sp");
  add("cp", sizes.context);
  out.push_back(absl::StrCat("pp ", sizes.pipeline));
  add("vpp", sizes.virtual_stages);
  add("ep", sizes.expert);
  add("etp", sizes.expert_tensor);
  // One after the other: their product may overflow.
  out.push_back(absl::StrCat("dp ", device_count / sizes.tensor / sizes.context / sizes.pipeline));
  if (ZeroOf(layout) > 0 || IsOffloaded(option)) {
    out.push_back(absl::StrCat("zero ", ShardingWords(option)));
  }
  out.push_back(absl::StrCat("mbs ", sizes.micro_batch));
  if (ScheduleWords(layout) != "1f1b") out.push_back(ScheduleWords(layout));
  if (!KernelWords(option).empty()) out.push_back(KernelWords(option));
  return absl::StrJoin(out, " ");
}

std::string LayoutFlags(const v1::LayoutOption& option) {
  const v1::RunLayout& layout = option.layout();
  const words::LayoutSizes sizes = words::SizesOf(layout);
  std::vector<std::string> out = {absl::StrCat("--tp=", sizes.tensor)};
  const auto add = [&](absl::string_view flag, auto value) {
    out.push_back(absl::StrCat(flag, "=", value));
  };
  if (sizes.tensor > 1) add("--sp", layout.sequence_parallel() ? "true" : "false");
  add("--cp", sizes.context);
  add("--pp", sizes.pipeline);
  add("--vpp", sizes.virtual_stages);
  if (layout.parallel().layers_per_chunk_size() > 0) {
    add("--layers-per-chunk", absl::StrJoin(layout.parallel().layers_per_chunk(), "x"));
  }
  if (sizes.expert > 1) add("--ep", sizes.expert);
  if (sizes.expert_tensor > 0) add("--etp", sizes.expert_tensor);
  add("--zero", ZeroOf(layout));
  const int64_t group = layout.sharding().shard_group_size();
  if (group > 0) add("--shard-group-size", group);
  if (layout.sharding().has_reshard_after_forward()) {
    add("--reshard-after-forward", layout.sharding().reshard_after_forward() ? "true" : "false");
  }
  if (layout.sharding().offload_optimizer()) add("--offload-optimizer", "true");
  if (layout.sharding().offload_parameters()) add("--offload-parameters", "true");
  add("--mbs", sizes.micro_batch);
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
  const words::LayoutSizes sizes = words::SizesOf(layout);
  std::vector<std::string> words;
  const auto add = [&words](const char* name, int64_t value) {
    if (value != 1) words.push_back(absl::StrCat(name, " ", Grouped(value)));
  };
  add("tensor", sizes.tensor);
  // A BASIC view has no stages.
  add("pipeline", memory.stages().empty() ? sizes.pipeline : memory.stages_size());
  add("context", sizes.context);
  add("data", memory.data_parallel_size());
  return absl::StrCat(
      words.empty() ? "one GPU holds all" : absl::StrJoin(words, " x "),
      sizes.expert > 1 ? absl::StrCat(", experts over ", Grouped(sizes.expert), " ranks") : "",
      sizes.virtual_stages > 1
          ? absl::StrCat(", ", Grouped(sizes.virtual_stages), " chunks a stage")
          : "",
      "; a step is ", Times(memory.micro_batch_count(), "micro-batch", "micro-batches"), " of ",
      Times(sizes.micro_batch, "sequence", "sequences"),
      layout.has_global_batch_size() ? "" : ", since no --gbs is given");
}

}  // namespace sextant::client
