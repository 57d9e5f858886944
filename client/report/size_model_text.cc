#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/lines.h"
#include "client/report/plan_text.h"
#include "client/report/planned_run.h"
#include "client/report/size_text.h"
#include "client/report/whole_run_text.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

// "dense: 64 heads of 128, 8 of keys and values, feed-forward 28,672" of one kind of layer.
std::string KindWords(const v1::LayerKind& kind) {
  std::vector<std::string> parts;
  if (kind.has_attention()) {
    const v1::Attention& attention = kind.attention();
    parts.push_back(absl::StrCat(attention.head_count(), " heads of ",
                                 attention.query_key_head_size(), ", ",
                                 attention.key_value_head_count(), " of keys and values"));
  }
  if (kind.has_feed_forward()) {
    parts.push_back(absl::StrCat("feed-forward ", Grouped(kind.feed_forward().size())));
  }
  if (kind.has_experts()) {
    parts.push_back(absl::StrCat(kind.experts().expert_count(), " experts of ",
                                 Grouped(kind.experts().expert().size())));
  }
  return absl::StrCat(kind.name(), ": ", absl::StrJoin(parts, ", "));
}

std::string ShapeWords(const v1::SizeModelResponse& response) {
  if (!response.has_architecture()) return "";
  std::vector<std::string> parts = {
      absl::StrCat(Grouped(response.layer_count()), " layers, width ",
                   Grouped(response.architecture().hidden_size()), " (",
                   absl::StrFormat("%.4g", response.width_ratio()), " x the given model's)")};
  for (const v1::LayerKind& kind : response.architecture().layer_kinds()) {
    parts.push_back(KindWords(kind));
  }
  return absl::StrJoin(parts, "; ");
}

std::string TimeWords(const v1::SizeModelResponse& response) {
  const v1::TimeEstimate* const estimate = BasisEstimate(response.plan());
  if (estimate == nullptr) return "";
  std::string out =
      absl::StrCat(DaysText(estimate->elapsed_seconds().expected()), " days ",
                   EstimateWords(estimate->kind()), ", ", DeviceHours(estimate->device_hours()));
  if (estimate->has_cost_usd())
    absl::StrAppend(&out, ", ", Grouped(estimate->cost_usd(), 0), " USD");
  if (estimate->has_mfu()) absl::StrAppendFormat(&out, ", %.1f %% MFU", 100 * estimate->mfu());
  return out;
}

std::string FitWords(const v1::SizeModelResponse& response) {
  if (response.met()) return "The largest model that fits";
  // The nearest bare number of parameters is the fewest that a model has.
  if (response.has_architecture()) return "No model of these proportions fits";
  return absl::StrCat("No model of ", Grouped(response.parameter_count()),
                      " parameters or more fits");
}

// The index of the answer among the models that were tried.
int ChosenOf(const v1::SizeModelResponse& response) {
  for (int i = 0; i < response.tried_size(); ++i) {
    if (response.tried(i).parameter_count() == response.parameter_count()) return i;
  }
  return 0;
}

// The models next to the answer.
std::string TriedTable(const v1::SizeModelResponse& response) {
  if (response.tried().empty()) return "";
  constexpr int kSmaller = 2;
  constexpr int kLarger = 6;
  using Tried = v1::TriedModel;
  const int chosen = ChosenOf(response);
  const int first = std::max(0, chosen - kSmaller);
  const int end = std::min(response.tried_size(), chosen + 1 + kLarger);
  const std::vector<Tried> shown(response.tried().begin() + first, response.tried().begin() + end);
  const Tried* const answer = &shown[static_cast<size_t>(chosen - first)];
  const Table table = TableOf<Tried>(
      {{"", [answer](const Tried& t) { return &t == answer ? ">" : ""; }},
       {">parameters", [](const Tried& t) { return Grouped(t.parameter_count()); }},
       {">layers", [](const Tried& t) { return Grouped(t.layer_count()); }},
       {">width", [](const Tried& t) { return Grouped(t.hidden_size()); }},
       {">days",
        [](const Tried& t) {
          return t.has_elapsed_seconds() ? DaysText(t.elapsed_seconds()) : kNoValue;
        }},
       {">USD",
        [](const Tried& t) { return t.has_cost_usd() ? ShortNumber(t.cost_usd()) : kNoValue; },
        kNoValue},
       {"misses", [](const Tried& t) { return SizeLimitWords(t.misses()); }}},
      shown);
  return absl::StrCat("\nNext to it\n", table.Text());
}

}  // namespace

std::string SizeModelText(const v1::SizeModelRequest& request,
                          const v1::SizeModelResponse& response, absl::Time now) {
  const v1::Plan& plan = response.plan();
  const std::string devices =
      response.has_plan() ? absl::StrCat(" on ", Grouped(plan.device_count()), " x ", plan.device())
                          : "";
  std::string out = Wrap(
      "",
      absl::StrCat(MissSentence(plan, response.met(), response.limit()), FitWords(response),
                   GoalWords(request.run(), request.max_duration()), devices, ": ",
                   response.met() ? "" : "the nearest has ", Grouped(response.parameter_count()),
                   " parameters, ", Grouped(response.token_count()), " tokens"),
      2);
  out += Line("  servers ", AssumedNodesWords({&plan}));
  out += Line("  shape   ", ShapeWords(response));
  if (plan.has_search()) out += Line("  layout  ", LayoutFlags(plan.search().chosen()));
  if (response.has_plan()) {
    out += Line("  memory  ",
                absl::StrCat(Gib(plan.memory().peak_bytes().expected()), " of ",
                             Gib(plan.memory().capacity().usable_bytes()), " usable on a device"));
  }
  out += Line("  time    ", TimeWords(response));
  const std::string miss = SizeMissWords(response.limit());
  if (!miss.empty()) {
    out += Line("  limit   ", response.met() ? absl::StrCat("the next larger: ", miss) : miss);
  }
  out += Line("  rates   ", RatesWords(plan, now));
  return absl::StrCat(out, Wrap("  ", SizeBasisWords(response.basis()), 2), TriedTable(response));
}

}  // namespace sextant::client
