#include "client/flags/plan_flags.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/words/adapters.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

namespace {

// --measured-step comes before the flags of software.
constexpr FlagRow kPlanRows[] = {
    {"model"},         {"training"}, {"cluster"}, {"rate_requirement"}, {"economics"},
    {"interruptions"}, {"options"},  {"layout"},  {"measured_step"},    {"layout.software"}};

// The flags, and after them words for messages.
const std::vector<FieldFlag>& PlanWords() { return RequestFlags<v1::PlanRunRequest, kPlanRows>(); }

}  // namespace

absl::Span<const FieldFlag> PlanFlags() {
  static const auto count = static_cast<size_t>(
      absl::c_count_if(PlanWords(), [](const FieldFlag& flag) { return !flag.names.empty(); }));
  return absl::MakeConstSpan(PlanWords()).first(count);
}

std::string PlanFieldWords(const std::string& field) { return FieldWordsOf(PlanWords(), field); }

std::string PlanDescriptionWords(const std::string& text) {
  return DescriptionWordsOf(PlanWords(), text);
}

std::string DefaultTargetsHint(const v1::ModelChanges& changes, const CallError& error) {
  const bool at_fault = absl::c_any_of(error.field_violations, [](const CallError::Violation& v) {
    return absl::StartsWith(v.subject, "model.changes.adapters.targets");
  });
  if (!at_fault || !absl::c_equal(changes.adapters().targets(), words::kDefaultTargets)) return "";
  return absl::StrCat(absl::StrJoin(words::kDefaultTargets, ","),
                      " is the default of --lora-targets: give it names of this model's matrices, "
                      "e.g. --lora-targets=attention.output (sextant count MODEL --tensors)");
}

}  // namespace sextant::client
