// `sextant-probe check` without the backends: its command line, and the run.
#ifndef SEXTANT_GPU_PROBE_HEALTH_RUN_CHECK_H_
#define SEXTANT_GPU_PROBE_HEALTH_RUN_CHECK_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/health/findings.h"
#include "gpu_probe/options.h"

namespace sextant::probe {

// True where `args`, the program's name left out, ask for `check` and not for a measurement.
bool AsksForCheck(const std::vector<std::string>& args);

// Runs the check on descriptors 0, 1 and 2, and returns its exit code: a HealthStatus, UNKNOWN
// where there is no verdict. At a measurement's hard deadline it does not return: the process ends,
// UNKNOWN as well. Throws nothing.
int RunCheck(const std::vector<std::string>& args, absl::Span<const Backend> backends);

// Each field is the option of the same name.
struct CheckOptions {
  std::vector<std::string> paths = {};
  std::string device = {};  // "": each device
  bool measure = false;
  double budget_seconds = 0;  // 0: DefaultBudgetSeconds() of a quick probe
  std::string keep = {};      // "": no folder
  bool json = false;
  HealthLimits limits = {};
};

// Reads `args`, the arguments after "check".
//
// Errors: kInvalidArgument with a text for people.
absl::StatusOr<std::variant<CheckOptions, AskedText>> ParseCheckOptions(
    const std::vector<std::string>& args);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_RUN_CHECK_H_
