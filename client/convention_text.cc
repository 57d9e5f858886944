#include "client/convention_text.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/amounts.h"
#include "client/format.h"
#include "client/table.h"

namespace sextant {
namespace {

// As --flops-convention has it.
std::string NameOf(const v1::ModelFlops::Convention& convention) {
  return absl::StrReplaceAll(convention.name(), {{"_", "-"}});
}

// "attention -12.88 GFLOP".
std::string LargestDifference(const v1::ModelFlops::Convention& convention) {
  if (convention.differences().empty()) return "none";
  const v1::ModelFlops::Convention::Difference& largest = convention.differences(0);
  return absl::StrCat(Words(largest.name()), largest.flops_per_token() > 0 ? " +" : " ",
                      ShortFlops(largest.flops_per_token()));
}

// The conventions that don't say how to count this model, together where they have one reason.
std::string OthersText(const v1::ModelFlops& flops) {
  std::vector<std::string> reasons;
  for (const v1::ModelFlops::Convention& convention : flops.conventions()) {
    const bool listed = absl::c_linear_search(reasons, convention.why_not());
    if (!convention.has_flops_per_token() && !listed) reasons.push_back(convention.why_not());
  }
  std::string out;
  for (const std::string& reason : reasons) {
    std::vector<std::string> names;
    for (const v1::ModelFlops::Convention& convention : flops.conventions()) {
      const bool counts = convention.has_flops_per_token();
      if (!counts && convention.why_not() == reason) names.push_back(NameOf(convention));
    }
    out +=
        Wrap("  not for this model: ", absl::StrCat(absl::StrJoin(names, ", "), ": ", reason), 4);
  }
  return out;
}

}  // namespace

std::string ConventionsSection(const v1::ModelFlops& flops) {
  Table table(2, {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.AddRow({"convention", "FLOP a token", "to exact", "counts", "largest difference"});
  for (const v1::ModelFlops::Convention& convention : flops.conventions()) {
    if (!convention.has_flops_per_token()) continue;
    table.AddRow({NameOf(convention), Plain(convention.flops_per_token()),
                  absl::StrFormat("%.4f x", convention.ratio_to_exact()),
                  convention.hardware() ? "hardware" : "model", LargestDifference(convention)});
  }
  return absl::StrCat("\nConventions (exact: causal mask)\n", table.Text(), OthersText(flops));
}

std::string KaplanSection(const v1::ModelFlops& flops) {
  std::string out = "\nKaplan et al. 2020, table 1 (forward, FLOP a token; counted: causal mask)\n";
  if (flops.kaplan_table().empty()) {
    const auto kaplan = absl::c_find_if(flops.conventions(), [](const auto& convention) {
      return convention.convention() == v1::FLOPS_CONVENTION_KAPLAN_2020;
    });
    return absl::StrCat(out, Wrap("  not for this model: ",
                                  kaplan == flops.conventions().end() ? "" : kaplan->why_not(), 4));
  }
  Table table(2, {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({"row", "by the table", "counted", "formula; where a difference comes from"});
  for (const v1::ModelFlops::KaplanRow& row : flops.kaplan_table()) {
    table.AddRow({row.name(), Plain(row.flops_per_token()), Plain(row.exact_flops_per_token()),
                  absl::StrCat(row.formula(), row.difference() == "none" ? "" : "; ",
                               row.difference() == "none" ? "" : row.difference())});
  }
  return absl::StrCat(out, table.Text());
}

}  // namespace sextant
