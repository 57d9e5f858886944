#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/report/lines.h"
#include "client/report/memory_text.h"
#include "client/text/text.h"
#include "proto/words/plan_line.h"

namespace sextant::client {
namespace {

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
  return absl::StrCat(
      words::ChangeWords(first), " makes it fit: ", IntervalText(first.peak_bytes()), "; costs ",
      first.cost_text(), others > 0 ? absl::StrCat(" (or one of ", others, " more: -v)") : "");
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
  Table table = Titled({"the peak is", "with"});
  for (const v1::FittingChange& change : memory.changes()) {
    table.AddRow({IntervalText(change.peak_bytes()),
                  absl::StrCat(words::ChangeWords(change), "; costs ", change.cost_text())});
  }
  return absl::StrCat("\nWhat to change: each of these makes it fit, the cheapest first (",
                      considered, " considered",
                      memory.changes_search_ended_early() ? ", others left out" : "", ")\n",
                      table.Text());
}

}  // namespace sextant::client
