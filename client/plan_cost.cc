#include "client/plan_cost.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/format.h"
#include "client/table.h"

namespace sextant {
namespace {

// One way to reckon the run's cost.
struct CostColumn {
  std::string title;
  const v1::RunCost& cost;
};

std::string Sentence(const std::string& label, const std::string& text) {
  return Wrap(absl::StrCat("  ", label, ": "), text, 4);
}

std::string DollarsOf(const v1::RunCost& cost) {
  return cost.has_cost_usd() ? absl::StrCat(Grouped(cost.cost_usd(), 2), " USD") : "not counted";
}

std::string EnergyOf(const v1::RunCost& cost) {
  return cost.has_energy_joules() ? Energy(cost.energy_joules()) : "not counted";
}

std::string MfuOf(const v1::RunCost& cost) {
  return cost.has_mfu() ? Percent(cost.mfu()) : "no peak known";
}

std::string HfuOf(const v1::RunCost& cost) {
  return cost.has_hfu() ? Percent(cost.hfu()) : "not known";
}

// An HFU that is the MFU is no news.
bool HasItsOwnHfu(const CostColumn& column) {
  return column.cost.has_hfu() && column.cost.hfu() != column.cost.mfu();
}

std::string FractionOf(const v1::RunCost& cost) {
  return cost.has_measured_fraction() ? Percent(cost.measured_fraction()) : "not measured";
}

// A rate is worth its decimals only where it is small, and must not read as zero.
std::string TokensPerSecond(double rate) {
  if (rate > 0 && rate < 0.01) return absl::StrFormat("%.3g tokens/s", rate);
  return absl::StrCat(Grouped(rate, rate < 100 ? 2 : 0), " tokens/s");
}

// The figures of `plan` that are there, the closest to the truth first.
std::vector<CostColumn> CostColumns(const v1::Plan& plan) {
  std::vector<CostColumn> columns;
  if (plan.has_measured_bound()) columns.push_back({"measured bound", plan.measured_bound()});
  if (plan.has_lower_bound()) columns.push_back({"lower bound", plan.lower_bound()});
  if (plan.has_textbook_estimate()) {
    columns.push_back({"textbook estimate", plan.textbook_estimate()});
  }
  return columns;
}

std::string CostTable(const std::vector<CostColumn>& columns, bool measured) {
  std::vector<Align> aligned(columns.size() + 1, Align::kRight);
  aligned.front() = Align::kLeft;
  Table table(2, std::move(aligned));
  const auto add = [&](const std::string& label, const auto& cell) {
    std::vector<std::string> cells = {label};
    for (const CostColumn& column : columns) cells.push_back(cell(column));
    table.AddRow(std::move(cells));
  };
  add("", [](const CostColumn& column) { return column.title; });
  add("MFU", [](const CostColumn& column) { return MfuOf(column.cost); });
  if (absl::c_any_of(columns, HasItsOwnHfu)) {
    add("HFU", [](const CostColumn& column) { return HfuOf(column.cost); });
  }
  if (measured)
    add("of measured", [](const CostColumn& column) { return FractionOf(column.cost); });
  add("duration",
      [](const CostColumn& column) { return Duration(column.cost.duration_seconds()); });
  // Three columns leave no room for the unit beside the number.
  add(measured ? "device-hours" : "device time", [&](const CostColumn& column) {
    return absl::StrCat(Grouped(column.cost.device_hours(), 2), measured ? "" : " device-hours");
  });
  add("throughput",
      [](const CostColumn& column) { return TokensPerSecond(column.cost.tokens_per_second()); });
  add("cost", [](const CostColumn& column) { return DollarsOf(column.cost); });
  add("energy", [](const CostColumn& column) { return EnergyOf(column.cost); });
  return table.Text();
}

}  // namespace

std::string CostSection(const v1::Plan& plan) {
  const std::vector<CostColumn> columns = CostColumns(plan);
  std::string out = "\nTime and cost (whole run, no failures or stalls)\n";
  if (columns.empty()) return absl::StrCat(out, "  not known: no rate of the devices is\n");
  out += CostTable(columns, plan.has_measured_bound());
  for (const CostColumn& column : columns) out += Sentence(column.title, column.cost.mfu_basis());
  return out;
}

}  // namespace sextant
