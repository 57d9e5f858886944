#include "client/adapter_targets.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sextant {
namespace {

// Source: Hu et al. 2021 (arXiv 2106.09685), whose experiments mostly adapt these two; from memory.
constexpr const char* kDefaults[] = {"attention.query", "attention.value"};

}  // namespace

void AddDefaultTargets(v1::ModelChanges* changes) {
  v1::ModelChanges::Adapters* adapters = changes->mutable_adapters();
  if (!adapters->targets().empty()) return;
  for (const char* target : kDefaults) adapters->add_targets(target);
}

std::string DefaultTargetsHint(const v1::ModelChanges& changes, const CallError& error) {
  const bool at_fault = absl::c_any_of(error.field_violations, [](const CallError::Violation& v) {
    return absl::StartsWith(v.subject, "model.changes.adapters.targets");
  });
  if (!at_fault || !absl::c_equal(changes.adapters().targets(), kDefaults)) return "";
  return absl::StrCat(absl::StrJoin(kDefaults, ","),
                      " is the default of --lora-targets: give it names of this model's matrices, "
                      "e.g. --lora-targets=attention.output (sextant count MODEL --tensors)");
}

}  // namespace sextant
