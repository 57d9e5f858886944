// The command line of `sextant-probe check`.
#ifndef SEXTANT_GPU_PROBE_HEALTH_CHECK_OPTIONS_H_
#define SEXTANT_GPU_PROBE_HEALTH_CHECK_OPTIONS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/health/finding.h"
#include "gpu_probe/options.h"

namespace sextant {

// Each field is the option of the same name.
struct CheckOptions {
  std::vector<std::string> paths = {};
  std::string device = {};  // "": each
  bool measure = false;
  double budget_seconds = 0;  // 0: DefaultBudgetSeconds() of a quick probe
  std::string keep = {};      // "": no folder
  bool json = false;
  HealthLimits limits = {};
};

// Reads `args`, what follows "check".
//
// Errors: kInvalidArgument with a text for people.
absl::StatusOr<std::variant<CheckOptions, AskedText>> ParseCheckOptions(
    const std::vector<std::string>& args);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_CHECK_OPTIONS_H_
