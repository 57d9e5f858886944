#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/plot/plot.h"
#include "client/report/lines.h"
#include "client/report/plan_text.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"
#include "client/text/step_words.h"
#include "client/text/text.h"
#include "proto/words/layout_sizes.h"

namespace sextant::client {
namespace {

std::string ReasonWords(v1::PrunedLayouts::Reason reason) {
  static constexpr Worded<v1::PrunedLayouts::Reason> kWords[] = {
      {v1::PrunedLayouts::REASON_BATCH, "whose ranks don't divide the batch"},
      {v1::PrunedLayouts::REASON_ROUNDS, "whose stages don't divide the micro-batches"},
      {v1::PrunedLayouts::REASON_WEIGHTS, "whose weights alone are too large"},
      {v1::PrunedLayouts::REASON_REFUSED, "that framework or model refuse"},
      {v1::PrunedLayouts::REASON_MEMORY, "that do not fit"}};
  return WordsOf(kWords, reason, "for a reason that this client does not know");
}

std::string CountWords(const v1::LayoutSearchResult& search) {
  std::vector<std::string> parts;
  int64_t left = search.considered_count() - search.evaluated_count();
  for (const v1::PrunedLayouts& each : search.pruned()) {
    left -= each.count();
    parts.push_back(absl::StrCat(Grouped(each.count()), " ", ReasonWords(each.reason())));
  }
  std::string out = absl::StrCat(Grouped(search.considered_count()), " layouts considered, ",
                                 Grouped(search.evaluated_count()), " timed");
  if (!parts.empty()) absl::StrAppend(&out, "; without ", absl::StrJoin(parts, ", "));
  if (!search.exhaustive()) {
    absl::StrAppend(
        &out, "; ", Grouped(left),
        " that are likely to be slower were not looked at: give parts of the layout, or "
        "--search=exhaustive");
  }
  return absl::StrCat(out, ".");
}

// The step's time; a layout that does not fit has none.
std::string OptionStepCell(const v1::LayoutOption& option) {
  const double seconds = option.step_seconds().expected();
  return seconds > 0 ? TimeToThreeDigits(seconds) : kNoValue;
}

// "=*": a tie that is beyond published runs.
std::string MarksOf(const v1::LayoutOption& option) {
  return absl::StrCat(option.tie() ? "=" : "", option.unpublished_sizes().empty() ? "" : "*");
}

std::string ExpertTensorCell(const v1::LayoutOption& option) {
  const int64_t size = words::SizesOf(option.layout()).expert_tensor;
  return size > 0 ? absl::StrCat(size) : "";
}

constexpr char kUnpublishedLegend[] = "*: unpublished sizes";

using Option = v1::LayoutOption;

std::string OptionTable(const v1::LayoutSearchResult& search) {
  std::vector<Option> options = {search.chosen()};
  options.insert(options.end(), search.alternatives().begin(), search.alternatives().end());
  const auto size = [](auto of) {
    return [of](const Option& o) { return absl::StrCat(words::SizesOf(o.layout()).*of); };
  };
  using words::LayoutSizes;
  return TableOf<Option>(
             {{"", MarksOf},
              {">step", OptionStepCell},
              {">memory", [](const Option& o) { return Gib(o.peak_bytes().expected()); }},
              {">fits", [](const Option& o) { return Percent(o.fit_chance()); }},
              {">tp", size(&LayoutSizes::tensor)},
              {"sp", [](const Option& o) { return o.layout().sequence_parallel() ? "yes" : ""; },
               ""},
              {">cp", size(&LayoutSizes::context), "1"},
              {">pp", size(&LayoutSizes::pipeline)},
              {">vpp", size(&LayoutSizes::virtual_stages), "1"},
              {">ep", size(&LayoutSizes::expert), "1"},
              {">etp", ExpertTensorCell, ""},
              {"zero", ShardingWords},
              {">mbs", size(&LayoutSizes::micro_batch)},
              {"recompute", RecomputeWords},
              {"schedule", [](const Option& o) { return ScheduleWords(o.layout()); }, "1f1b"},
              {"attention, loss", KernelWords, ""}},
             options)
      .Text();
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

// The sizes of the choice that no published run has; "" where there are none.
std::string UnpublishedWords(const Option& option) {
  std::vector<std::string> parts;
  for (const v1::UnpublishedSize& each : option.unpublished_sizes()) {
    parts.push_back(absl::StrCat(each.field(), " ", each.size(), " (at most ",
                                 each.published_most(), ": ", each.source(), ")"));
  }
  if (parts.empty()) return "";
  return absl::StrCat("The first is beyond published runs in ", absl::StrJoin(parts, ", "), ".");
}

}  // namespace

std::string SearchProgressWords(const v1::SearchProgress& progress, int64_t device_count) {
  std::string out = absl::StrCat(Grouped(progress.searched_count()), " of ",
                                 Grouped(progress.layout_count()), " layouts");
  if (!progress.has_best()) return out;
  return absl::StrCat(out, "; ", TimeText(progress.best().step_seconds().expected()), ": ",
                      LayoutName(progress.best(), device_count));
}

std::string BestLayouts(const v1::Plan& plan, size_t count, size_t width) {
  if (!plan.has_search()) return "";
  const v1::LayoutSearchResult& search = plan.search();
  std::vector<const Option*> options = {&search.chosen()};
  for (const Option& option : search.alternatives()) options.push_back(&option);
  options.resize(std::min(options.size(), count));
  std::vector<std::array<std::string, 4>> rows = {{"step", "memory", "fits", "layout"}};
  for (const Option* const o : options) {
    const std::string recompute = RecomputeWords(*o);
    rows.push_back({OptionStepCell(*o), Gib(o->peak_bytes().expected()), Percent(o->fit_chance()),
                    absl::StrCat(LayoutName(*o, plan.device_count()),
                                 recompute == "none" ? "" : ", recompute ",
                                 recompute == "none" ? "" : recompute)});
  }
  Table table = Titled({"", ">", ">", ">", ""});
  const bool marked =
      absl::c_any_of(options, [](const Option* o) { return !o->unpublished_sizes().empty(); });
  // The indent, the marks, and what is between columns.
  size_t fixed = 2 + (marked ? 2 : 1) + 4 * 2;
  for (size_t i = 0; i < 3; ++i) {
    fixed += absl::c_max_element(
                 rows, [i](const auto& a, const auto& b) { return a[i].size() < b[i].size(); })
                 ->at(i)
                 .size();
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    table.AddRow({i > 0 ? MarksOf(*options[i - 1]) : "", rows[i][0], rows[i][1], rows[i][2],
                  CutTo(width - std::min(fixed, width / 2), rows[i][3])});
  }
  return absl::StrCat("Layouts, the fastest first: ", Grouped(search.evaluated_count()),
                      " timed; =: within ", Percent(search.tie_ratio()),
                      marked ? absl::StrCat("; ", kUnpublishedLegend) : " of the first", "\n",
                      table.Text());
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
  const bool marked = has([](const Option& o) { return !o.unpublished_sizes().empty(); });
  const std::string beyond = marked ? absl::StrCat(" ", kUnpublishedLegend, ".") : "";
  const std::string unpublished = UnpublishedWords(search.chosen());
  return absl::StrCat("\nLayouts, the fastest first\n",
                      Wrap("  ", absl::StrCat(CountWords(search), BoundWords(search)), 2),
                      OptionTable(search), Wrap("  ", absl::StrCat(ties, beyond, kept, away), 2),
                      Paragraph(unpublished),
                      search.alternatives().empty() ? "" : Wrap("  ", SensitivityWords(search), 2));
}

}  // namespace sextant::client
