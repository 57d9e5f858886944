// What a check of a device's health finds, and how bad that is.
#ifndef SEXTANT_GPU_PROBE_HEALTH_FINDING_H_
#define SEXTANT_GPU_PROBE_HEALTH_FINDING_H_

#include <string>

namespace sextant {

// In the numbers of the Monitoring Plugins Guidelines: they are the exit codes of
// `sextant-probe check`, and of nothing else.
enum class HealthStatus : int {
  kOk = 0,
  kWarning = 1,
  kCritical = 2,
  kUnknown = 3,
};

// "OK", "WARNING", "CRITICAL", "UNKNOWN".
const char* HealthStatusText(HealthStatus status);

// What is known to be wrong goes before what is not known, and that before good:
// CRITICAL > WARNING > UNKNOWN > OK.
HealthStatus Worse(HealthStatus a, HealthStatus b);

// What the verdict stands on; docs/health.md explains each.
struct HealthLimits {
  double history_tolerance = 0.05;  // slower than its own history by more than this share
  double peer_z = 4;                // deviations of the peers behind their median, and ...
  double peer_tolerance = 0.03;     // ... slower than it by more than this share
  double limit_tolerance = 0.02;    // above the clock-true limit by more than this share
  double max_age_seconds = 7 * 86400.0;
};

// One thing that is not as it should be.
struct Finding {
  HealthStatus status = HealthStatus::kUnknown;
  // "history", "peers", "limit", "throttle", "missing", "comparable", "age" or "reference".
  std::string rule = {};
  std::string figure = {};  // "matmul bf16"; empty where it is about the whole measurement
  std::string unit = {};    // of value and reference, e.g. "FLOP/s"
  double value = 0;
  double reference = 0;
  double ratio = 0;          // value over reference
  std::string message = {};  // for people: one sentence without its end, device and figure left out
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_FINDING_H_
