#include "client/memory_changes_text.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/flag_words.h"
#include "client/format.h"
#include "client/memory_chart.h"
#include "client/table.h"

namespace sextant {
namespace {

// A value as flags take it: names of enums in lower case, with "-".
std::string ValueText(const std::string& value) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(value), {{"_", "-"}});
}

// "--tp=8 (now 4)". A setting may be of several switches at once.
std::string SettingText(const v1::ChangedSetting& setting) {
  const auto append = [&setting](std::string* out, absl::string_view field) {
    absl::StrAppend(out, PlanFieldWords(std::string(field)), "=", ValueText(setting.to()));
  };
  return absl::StrCat(absl::StrJoin(absl::StrSplit(setting.field(), ", "), " ", append), " (now ",
                      ValueText(setting.from()), ")");
}

std::string ChangeText(const v1::FittingChange& change) {
  std::vector<std::string> settings;
  for (const v1::ChangedSetting& setting : change.settings()) {
    settings.push_back(SettingText(setting));
  }
  return absl::StrJoin(settings, " and ");
}

}  // namespace

std::string ChangesSection(const v1::Plan& plan) {
  const v1::MemoryEstimate& estimate = plan.memory_estimate();
  if (plan.verdict() == v1::VERDICT_FITS) return "";
  const std::string considered = Grouped(estimate.changes_considered());
  if (estimate.changes().empty()) {
    return absl::StrCat("\nWhat to change\n",
                        Wrap("  ",
                             absl::StrCat("Of ", considered,
                                          " changes and pairs of them that were considered, none "
                                          "makes it fit."),
                             2));
  }
  Table table(2, {Align::kLeft, Align::kLeft, Align::kLeft});
  table.AddRow({"with", "the peak is", "at the cost of"});
  for (const v1::FittingChange& change : estimate.changes()) {
    table.AddRow({ChangeText(change), IntervalText(change.process_bytes()), change.cost()});
  }
  return absl::StrCat("\nWhat to change: each of these makes it fit, the cheapest first (",
                      considered, " considered)\n", table.Text());
}

}  // namespace sextant
