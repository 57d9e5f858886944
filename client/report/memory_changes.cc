#include "client/report/memory_changes.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/flags/field_path.h"
#include "client/flags/plan_flags.h"
#include "client/report/memory_text.h"
#include "client/text/memory_words.h"
#include "client/text/text.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {
namespace {

// A value as flags take it.
std::string ValueText(const std::string& field, const v1::SettingValue& value) {
  if (value.has_number()) return absl::StrCat(value.number());
  if (value.has_enabled()) return value.enabled() ? "true" : "false";
  const auto* const found = FindField(*v1::PlanRunRequest::descriptor(), field);
  if (found == nullptr || found->enum_type() == nullptr) return value.enum_name();
  const auto* const name = found->enum_type()->FindValueByName(value.enum_name());
  return name == nullptr ? value.enum_name() : EnumName(*found->enum_type(), name->number());
}

// "--tp=8 (now 4)".
std::string SettingText(const v1::ChangedSetting& setting) {
  return absl::StrCat(PlanFieldWords(setting.field()), "=",
                      ValueText(setting.field(), setting.new_value()), " (now ",
                      ValueText(setting.field(), setting.old_value()), ")");
}

std::string ChangeText(const v1::FittingChange& change) {
  std::vector<std::string> settings;
  for (const v1::ChangedSetting& setting : change.settings()) {
    settings.push_back(SettingText(setting));
  }
  return absl::StrJoin(settings, " and ");
}

// A sentence, where the server did not consider all changes.
absl::string_view EndOfSearch(const v1::Memory& memory) {
  return memory.changes_search_ended_early()
             ? " Further ones were left out: the model has too many kinds of layers on a stage."
             : "";
}

// False where it fits, or no change can make it fit a host of unknown memory.
bool HasChangesToSay(const v1::Plan& plan) {
  return plan.verdict() != v1::VERDICT_FITS && plan.memory().changes_considered() > 0;
}

}  // namespace

std::string NearestChange(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  if (!IsByStage(plan) || !HasChangesToSay(plan)) return "";
  if (memory.changes().empty()) {
    return absl::StrCat("none of ", Grouped(memory.changes_considered()),
                        " that were considered makes it fit");
  }
  const v1::FittingChange& first = memory.changes(0);
  const int others = memory.changes_size() - 1;
  return absl::StrCat(ChangeText(first), " makes it fit: ", IntervalText(first.peak_bytes()),
                      "; costs ", first.cost_text(),
                      others > 0 ? absl::StrCat(" (or one of ", others, " more: -v)") : "");
}

std::string ChangesSection(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  if (!HasChangesToSay(plan)) return "";
  const std::string considered = Grouped(memory.changes_considered());
  if (memory.changes().empty()) {
    return absl::StrCat("\nWhat to change\n",
                        Wrap("  ",
                             absl::StrCat("Of ", considered,
                                          " changes and pairs of them that were considered, none "
                                          "makes it fit.",
                                          EndOfSearch(memory)),
                             2));
  }
  Table table(2, {Align::kLeft, Align::kLeft});
  table.AddRow({"the peak is", "with"});
  for (const v1::FittingChange& change : memory.changes()) {
    table.AddRow({IntervalText(change.peak_bytes()),
                  absl::StrCat(ChangeText(change), "; costs ", change.cost_text())});
  }
  return absl::StrCat("\nWhat to change: each of these makes it fit, the cheapest first (",
                      considered, " considered",
                      memory.changes_search_ended_early() ? ", others left out" : "", ")\n",
                      table.Text());
}

}  // namespace sextant::client
