#include "client/report/plan_text.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/flags/plan_flags.h"
#include "client/plot/charts.h"
#include "client/report/lines.h"
#include "client/report/memory_text.h"
#include "client/report/whole_run_text.h"
#include "client/text/amounts.h"
#include "client/text/step_words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

// Recomputed FLOPs are not model FLOPs: only the table's hardware figures include them.
std::string HardwareLine(const v1::TrainingFlops& flops) {
  if (!flops.has_hardware_flops_ratio() || flops.hardware_flops_ratio() == 1) return "";
  return Wrap("  ",
              absl::StrFormat("hardware FLOPs, recomputation included: %.4f x those of %s",
                              flops.hardware_flops_ratio(), EnumName(flops.convention_used())),
              4);
}

std::string ArithmeticSection(const v1::TrainingFlops& flops) {
  Table table = Titled({"convention", ">per token", ">whole run", "counts", ""});
  for (const v1::TrainingFlops::Count& count : flops.counts()) {
    const bool used = count.convention() == flops.convention_used();
    table.AddRow({EnumName(count.convention()), Scaled(count.flops_per_token(), "FLOP"),
                  absl::StrFormat("%.4e FLOP", count.flops()),
                  count.hardware() ? "hardware" : "model", used ? "<- used for the times" : ""});
  }
  return absl::StrCat("\nArithmetic (training, forward and backward)\n", table.Text(),
                      HardwareLine(flops));
}

// One estimate of the run's cost.
struct CostColumn {
  std::string title;
  const v1::TimeEstimate& cost;
};

std::string Sentence(const std::string& label, const std::string& text) {
  return Wrap(absl::StrCat("  ", label, ": "), text, 4);
}

std::string DollarsOf(const v1::TimeEstimate& cost) {
  return cost.has_cost_usd() ? absl::StrCat(Grouped(cost.cost_usd(), 2), " USD") : "not counted";
}

std::string EnergyOf(const v1::TimeEstimate& cost) {
  return cost.has_energy_joules() ? Energy(cost.energy_joules()) : "not counted";
}

std::string FractionOf(const v1::TimeEstimate& cost) {
  return cost.has_measured_fraction() ? Percent(cost.measured_fraction()) : "not measured";
}

// In the unit of the time above it.
std::string ElapsedEnds(const v1::TimeEstimate& cost) {
  return IsRange(cost.elapsed_seconds()) ? DurationEndsText(cost.elapsed_seconds()) : "";
}

// True where more than steps takes time.
bool IsInterrupted(const v1::Plan& plan) {
  return plan.has_whole_run() && plan.whole_run().goodput_ratio() < 1;
}

// The figures that `plan` has, the most accurate first.
std::vector<CostColumn> CostColumns(const v1::Plan& plan) {
  std::vector<CostColumn> columns;
  const auto add = [&](v1::EstimateKind kind, const char* title) {
    if (const auto* const found = EstimateOf(plan, kind)) columns.push_back({title, *found});
  };
  add(v1::ESTIMATE_KIND_PREDICTED, "predicted");
  add(v1::ESTIMATE_KIND_MEASURED_BOUND, "measured bound");
  add(v1::ESTIMATE_KIND_LOWER_BOUND, "lower bound");
  add(v1::ESTIMATE_KIND_TEXTBOOK, "textbook estimate");
  return columns;
}

// Where the column's MFU comes from.
std::string BasisWords(const v1::TimeEstimate& cost) {
  switch (cost.mfu_basis()) {
    case v1::MFU_BASIS_FULL_PEAK:
      return cost.has_hfu() && cost.hfu() != cost.mfu() ? "full peak, recomputation included"
                                                        : "full peak";
    case v1::MFU_BASIS_REQUEST:
      return "MFU given in the request";
    case v1::MFU_BASIS_ASSUMED:
      return "assumed MFU";
    case v1::MFU_BASIS_MEASURED_RATE:
      return "the measured rate of matrix multiplication";
    case v1::MFU_BASIS_PREDICTED:
      return "kernels, exchanges and schedule of the layout";
    default:
      return cost.kind() == v1::ESTIMATE_KIND_MEASURED_BOUND
                 ? "the measured rate of matrix multiplication"
                 : EnumName(cost.mfu_basis());
  }
}

std::string CostTable(const std::vector<CostColumn>& columns, bool measured, bool interrupted) {
  using Cost = v1::TimeEstimate;
  const auto of = [](auto cell) {
    return [cell](const CostColumn& column) -> std::string { return cell(column.cost); };
  };
  const auto hours = [narrow = columns.size() > 2](const Cost& c) {
    return absl::StrCat(Grouped(c.device_hours(), 2), narrow ? "" : " device-hours");
  };
  // HFU that equals MFU is shown anyway.
  const bool hfu = absl::c_any_of(columns, [](const CostColumn& column) {
    return column.cost.has_hfu() && column.cost.hfu() != column.cost.mfu();
  });
  return SideBySide<CostColumn>(
             {{"", [](const CostColumn& column) { return column.title; }},
              {"MFU",
               of([](const Cost& c) { return c.has_mfu() ? Percent(c.mfu()) : "no peak known"; })},
              {"HFU",
               of([](const Cost& c) { return c.has_hfu() ? Percent(c.hfu()) : "not known"; }),
               nullptr, hfu},
              {"of measured", of(FractionOf), nullptr, measured},
              {"its steps",
               of([](const Cost& c) { return Duration(c.duration_seconds().expected()); }), nullptr,
               interrupted},
              {"duration",
               of([](const Cost& c) { return Duration(c.elapsed_seconds().expected()); })},
              {"80 % interval", of(ElapsedEnds), ""},
              // Three columns leave no room for the unit next to the number.
              {columns.size() > 2 ? "device-hours" : "device time", of(hours)},
              {"throughput",
               of([](const Cost& c) { return TokensPerSecond(c.tokens_per_second()); })},
              {"cost", of(DollarsOf)},
              {"energy", of(EnergyOf)}},
             columns)
      .Text();
}

}  // namespace

std::string ModelSection(const v1::ParameterCounts& parameters) {
  Table table = Titled({"", ">", ""});
  const auto add = [&table](const std::string& name, int64_t count, const std::string& note) {
    table.AddRow({name, Grouped(count), note});
  };
  add("total", parameters.total(), "parameters");
  if (parameters.has_active() && parameters.active() != parameters.total()) {
    add("active", parameters.active(), "that one token meets");
  }
  if (parameters.has_trainable() && parameters.trainable() != parameters.total()) {
    add("trainable", parameters.trainable(), "");
  }
  if (parameters.has_embedding()) add("embedding", parameters.embedding(), "");
  if (parameters.has_non_embedding()) add("non-embedding", parameters.non_embedding(), "");
  if (parameters.padding() > 0) add("padding", parameters.padding(), "of the embedding");
  if (parameters.components_size() > 0) table.AddRow({"by component:"});
  for (const v1::ParameterCounts::Component& part : parameters.components()) {
    add(absl::StrCat("  ", Words(part.name())), part.parameter_count(),
        part.embedding() ? "embedding" : "");
  }
  return absl::StrCat("\nModel\n", table.Text());
}

std::string CostSection(const v1::Plan& plan) {
  const std::vector<CostColumn> columns = CostColumns(plan);
  const bool interrupted = IsInterrupted(plan);
  std::string out = interrupted ? "\nTime and cost (whole run)\n"
                                : "\nTime and cost (whole run, no failures or stalls)\n";
  if (columns.empty()) return absl::StrCat(out, "  not known: no rate of the devices is\n");
  out += CostTable(columns, EstimateOf(plan, v1::ESTIMATE_KIND_MEASURED_BOUND) != nullptr,
                   interrupted);
  for (const CostColumn& column : columns) out += Sentence(column.title, BasisWords(column.cost));
  return out;
}

std::string DerivationSection(const v1::Plan& plan) {
  if (plan.derivation().empty()) return "";
  std::string out = "\nDerivation\n";
  for (const v1::DerivationStep& step : plan.derivation()) {
    std::string source = SourceText(plan.sources(), step.source_number());
    if (!source.empty()) source = absl::StrCat("  [", source, "]");
    absl::StrAppend(&out, Wrap("  ", absl::StrCat(step.symbol(), " = ", step.formula()), 6),
                    Wrap("    = ", step.substitution(), 6),
                    Wrap("    = ", absl::StrCat(Plain(step.value()), " ", step.unit(), source), 6));
  }
  return out;
}

std::string LayoutsText(const v1::Plan& plan, absl::Time now) {
  return absl::StrCat(PlanHead(plan, now, TextWidth()), SearchSection(plan), FrontSection(plan));
}

std::string PlanText(const v1::PlanRunResponse& response, absl::Time now) {
  const v1::Plan& plan = response.plan();
  // Its constants matter to those who ask how numbers come about.
  const bool in_detail = !plan.derivation().empty() || !plan.compute().stages().empty();
  return absl::StrCat(
      PlanHead(plan, now, TextWidth()), SearchSection(plan), StepSection(plan),
      ModelSection(plan.parameters()), ArithmeticSection(plan.flops()), MemorySection(plan),
      CostSection(plan), WholeRunSection(plan),
      NotesText("Warnings", plan.warnings(), PlanFieldWords),
      RatesText(plan.rates(), plan.sources(), now),
      NotesText("Assumptions", plan.assumptions(), PlanFieldWords),
      IgnoredFieldsSection(plan.ignored_config_fields()), in_detail ? SoftwareSection(plan) : "",
      ComputeSections(plan.compute(), plan.sources()), DerivationSection(plan), "\n",
      Wrap("",
           absl::StrCat("engine ", response.engine_version(), ", rates ",
                        response.rates_fingerprint()),
           0));
}

}  // namespace sextant::client
