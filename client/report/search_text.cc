#include "client/report/search_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/chart/step_chart.h"
#include "client/report/amounts.h"
#include "client/report/text.h"

namespace sextant::client {
namespace {

absl::string_view ReasonWords(v1::PrunedLayouts::Reason reason) {
  switch (reason) {
    case v1::PrunedLayouts::REASON_BATCH:
      return "whose ranks don't divide the batch";
    case v1::PrunedLayouts::REASON_ROUNDS:
      return "whose stages don't divide the micro-batches";
    case v1::PrunedLayouts::REASON_WEIGHTS:
      return "whose weights alone are too large";
    case v1::PrunedLayouts::REASON_REFUSED:
      return "that framework or model refuse";
    case v1::PrunedLayouts::REASON_MEMORY:
      return "that do not fit";
    default:
      return "for a reason that this client does not know";
  }
}

std::string CountWords(const v1::LayoutSearchResult& search) {
  std::vector<std::string> parts;
  for (const v1::PrunedLayouts& each : search.pruned()) {
    parts.push_back(absl::StrCat(Grouped(each.count()), " ", ReasonWords(each.reason())));
  }
  std::string out = absl::StrCat(Grouped(search.considered_count()), " layouts considered, ",
                                 Grouped(search.evaluated_count()), " timed");
  if (!parts.empty()) absl::StrAppend(&out, "; without ", absl::StrJoin(parts, ", "));
  if (!search.exhaustive()) {
    absl::StrAppend(&out, "; others were not looked at: --search=exhaustive does");
  }
  return absl::StrCat(out, ".");
}

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

int ZeroOf(const v1::RunLayout& layout) {
  return static_cast<int>(layout.sharding().zero_stage()) - v1::ZERO_STAGE_NONE;
}

bool IsOffloaded(const v1::LayoutOption& option) {
  return option.layout().sharding().offload_optimizer();
}

// ZeRO stage 3 that gathers weights once for both passes.
bool KeepsWeights(const v1::LayoutOption& option) {
  const v1::StateSharding& sharding = option.layout().sharding();
  return sharding.has_reshard_after_forward() && !sharding.reshard_after_forward();
}

std::string Sharing(const v1::LayoutOption& option) {
  const v1::StateSharding& sharding = option.layout().sharding();
  const int64_t group = sharding.shard_group_size();
  return absl::StrCat(ZeroOf(option.layout()), group > 0 ? absl::StrCat(" by ", group) : "",
                      KeepsWeights(option) ? " keep" : "",
                      sharding.offload_parameters()  ? " off+w"
                      : sharding.offload_optimizer() ? " off"
                                                     : "");
}

// "unfused, fused": the kernels of attention and of the loss; "" where they are the run's.
std::string KernelWords(const v1::LayoutOption& option) {
  const v1::KernelChoices& kernels = option.layout().kernels();
  if (kernels.attention() == 0 || kernels.loss() == 0) return "";
  return absl::StrCat(EnumName(kernels.attention()), ", ", EnumName(kernels.loss()));
}

// A column of the table of layouts. It is left out where every cell is `usual`.
struct OptionColumn {
  const char* title;
  Align align;
  const char* usual;
  std::string (*cell)(const v1::LayoutOption& option);
};

using Option = v1::LayoutOption;
constexpr OptionColumn kOptionColumns[] = {
    {"", Align::kLeft, nullptr, [](const Option& o) -> std::string { return o.tie() ? "=" : ""; }},
    {"step", Align::kRight, nullptr,
     [](const Option& o) { return TimeToThreeDigits(o.step_seconds().expected()); }},
    {"memory", Align::kRight, nullptr,
     [](const Option& o) { return Gib(o.peak_bytes().expected()); }},
    {"fits", Align::kRight, nullptr, [](const Option& o) { return Percent(o.fit_chance()); }},
    {"tp", Align::kRight, nullptr,
     [](const Option& o) { return absl::StrCat(o.layout().parallel().tensor_parallel_size()); }},
    {"sp", Align::kLeft, "",
     [](const Option& o) -> std::string { return o.layout().sequence_parallel() ? "yes" : ""; }},
    {"cp", Align::kRight, "1",
     [](const Option& o) { return absl::StrCat(o.layout().context_parallel_size()); }},
    {"pp", Align::kRight, nullptr,
     [](const Option& o) { return absl::StrCat(o.layout().parallel().pipeline_parallel_size()); }},
    {"vpp", Align::kRight, "1",
     [](const Option& o) { return absl::StrCat(o.layout().parallel().virtual_stage_count()); }},
    {"ep", Align::kRight, "1",
     [](const Option& o) { return absl::StrCat(o.layout().parallel().expert_parallel_size()); }},
    {"etp", Align::kRight, "",
     [](const Option& o) {
       const v1::ParallelLayout& sizes = o.layout().parallel();
       return sizes.has_expert_tensor_parallel_size()
                  ? absl::StrCat(sizes.expert_tensor_parallel_size())
                  : std::string();
     }},
    {"zero", Align::kLeft, nullptr, Sharing},
    {"mbs", Align::kRight, nullptr,
     [](const Option& o) { return absl::StrCat(o.layout().micro_batch_size()); }},
    {"recompute", Align::kLeft, nullptr, RecomputeWords},
    {"schedule", Align::kLeft, "1f1b", [](const Option& o) { return ScheduleWords(o.layout()); }},
    {"attention, loss", Align::kLeft, "", KernelWords},
};

std::string OptionTable(const v1::LayoutSearchResult& search) {
  std::vector<const Option*> options = {&search.chosen()};
  for (const Option& option : search.alternatives()) options.push_back(&option);
  std::vector<Align> aligned;
  std::vector<std::vector<std::string>> rows(1 + options.size());
  for (const OptionColumn& column : kOptionColumns) {
    const bool plain = column.usual != nullptr && absl::c_all_of(options, [&](const Option* o) {
                         return column.cell(*o) == column.usual;
                       });
    if (plain) continue;
    aligned.push_back(column.align);
    rows[0].emplace_back(column.title);
    for (size_t i = 0; i < options.size(); ++i) rows[1 + i].push_back(column.cell(*options[i]));
  }
  Table table(2, std::move(aligned));
  for (std::vector<std::string>& row : rows) table.AddRow(std::move(row));
  return table.Text();
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

}  // namespace

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
    out.push_back(absl::StrCat("zero ", Sharing(option)));
  }
  out.push_back(absl::StrCat("mbs ", std::max<int64_t>(1, layout.micro_batch_size())));
  if (ScheduleWords(layout) != "1f1b") out.push_back(ScheduleWords(layout));
  if (!KernelWords(option).empty()) out.push_back(KernelWords(option));
  return absl::StrJoin(out, " ");
}

std::string SearchProgressWords(const v1::SearchProgress& progress, int64_t device_count) {
  std::string out = absl::StrCat(Grouped(progress.searched_count()), " of ",
                                 Grouped(progress.layout_count()), " layouts");
  if (!progress.has_best()) return out;
  return absl::StrCat(out, "; ", TimeText(progress.best().step_seconds().expected()), ": ",
                      LayoutName(progress.best(), device_count));
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

// "where network is 1.5 times as slow, line 3 is faster"
std::string SensitivityWords(const v1::LayoutSearchResult& search) {
  std::vector<std::string> parts;
  for (const v1::ChoiceSensitivity& each : search.sensitivities()) {
    const bool slower = each.slowness() > 1;
    const double times = slower ? each.slowness() : 1 / each.slowness();
    // The choice is the first line.
    parts.push_back(absl::StrCat(RateWords(each.rate()), " is ", times, " times as ",
                                 slower ? "slow" : "fast", " (line ", each.alternative() + 2, ")"));
  }
  if (parts.empty()) {
    return "Of these, the first stays the fastest, or a tie, with each rate half or twice as high.";
  }
  return absl::StrCat("Another of these is faster by more than a tie where ",
                      absl::StrJoin(parts, ", or "), ".");
}

// The lower bound on any layout's step, if some layouts were not evaluated.
std::string BoundWords(const v1::LayoutSearchResult& search) {
  if (search.exhaustive() || !search.has_lower_bound_seconds()) return "";
  return absl::StrCat(" No layout's step takes less than ",
                      TimeToThreeDigits(search.lower_bound_seconds()), ", the time at peak.");
}

std::string SearchSection(const v1::Plan& plan) {
  if (!plan.has_search()) return "";
  const v1::LayoutSearchResult& search = plan.search();
  const auto has = [&search](bool (*is)(const Option&)) {
    return is(search.chosen()) || absl::c_any_of(search.alternatives(), is);
  };
  const absl::string_view away =
      has(IsOffloaded)
          ? " off: the optimizer's state is in host memory; off+w: shards of weights, too."
          : "";
  const absl::string_view kept =
      has(KeepsWeights) ? " keep: weights stay gathered from the forward to the backward pass."
                        : "";
  const std::string ties =
      absl::StrCat("=: within ", Percent(search.tie_ratio()),
                   " of the fastest: predictions do not separate closer layouts "
                   "(docs/search.md). The plan is of the first.");
  return absl::StrCat("\nLayouts, the fastest first\n",
                      Wrap("  ", absl::StrCat(CountWords(search), BoundWords(search)), 2),
                      OptionTable(search), Wrap("  ", absl::StrCat(ties, kept, away), 2),
                      search.alternatives().empty() ? "" : Wrap("  ", SensitivityWords(search), 2));
}

}  // namespace sextant::client
