// The findings of a health check, their severity, and the rules on a single measurement:
// conditions, physical limits, missing figures.
#ifndef SEXTANT_GPU_PROBE_HEALTH_FINDINGS_H_
#define SEXTANT_GPU_PROBE_HEALTH_FINDINGS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_probe/health/figures.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// Numbered as in the Monitoring Plugins Guidelines: these are the exit codes of `sextant-probe
// check`, and of nothing else.
enum class HealthStatus : int {
  kOk = 0,
  kWarning = 1,
  kCritical = 2,
  kUnknown = 3,
};

// "OK", "WARNING", "CRITICAL", "UNKNOWN".
const char* HealthStatusText(HealthStatus status);

// The worse of two. Known faults come before unknown states, and those before good ones: CRITICAL >
// WARNING > UNKNOWN > OK.
HealthStatus Worse(HealthStatus a, HealthStatus b);

// Thresholds of the verdict; docs/health.md explains each.
struct HealthLimits {
  double history_tolerance = 0.05;  // largest share by which it may be slower than its own history
  double peer_z = 4;                // standard deviations below the peers' median, and ...
  double peer_tolerance = 0.03;     // ... share by which it is slower than the median
  double limit_tolerance = 0.02;    // largest share above the clock-true limit
  double max_age_seconds = 7 * 86400.0;
  int in_a_row = 2;  // measurements that have to be slow for CRITICAL, the judged one the last
};

// One thing that is wrong, or not known.
struct Finding {
  HealthStatus status = HealthStatus::kUnknown;
  // "history", "peers", "limit", "throttle", "missing", "comparable", "age" or "reference".
  std::string rule = {};
  std::string figure = {};  // "matmul bf16"; empty for a finding on the whole measurement
  std::string unit = {};    // of value and reference, e.g. "FLOP/s"
  double value = 0;
  double reference = 0;
  double ratio = 0;          // value over reference
  std::string message = {};  // for people: one sentence without its end, device and figure left out
};

// Judges the conditions that the device reported while it was measured.
//
// A clock that the hardware's own protection lowered is CRITICAL, one that heat lowered a WARNING,
// in however few readings. The power limit lowers the clock under any load: that is not a finding.
std::vector<Finding> FindThrottling(const v1::Calibration& calibration);

// "its clock was 20.0 % below its peers', 1404 MHz against 1755 MHz", where `whose` is "its
// peers'". Empty where the judged device's clock is at most 1 % below the median of those
// `references` that report theirs, or where it reports none.
std::string LowClockText(const MeasuredDevice& judged,
                         absl::Span<const MeasuredDevice* const> references,
                         absl::string_view whose);

// LowClockText() for power, 3 % or more: "it drew 30.0 % less power than its peers, 490 W against
// 700 W".
std::string LowPowerText(const MeasuredDevice& judged,
                         absl::Span<const MeasuredDevice* const> references,
                         absl::string_view than_whom);

// The figure of the finding that a device is slower than its peers in all figures together.
inline constexpr char kAllFigures[] = "all figures";

// True where the figure of that name depends on the clock: false for passes over memory.
bool GoesByClock(absl::string_view figure);

// Rates that no device of the kind can reach: the measurement is wrong.
//
// Two limits hold for a multiplication: the rate of its type's registers at the same clock (the
// clock-true limit), and the rate of a GPU's matrix units at the highest allowed clock. A rate
// above a limit by more than `tolerance`, and by more than the noise of both explains, means that
// the clock changed in between or that a kernel skipped work. The finding is UNKNOWN, one a figure.
std::vector<Finding> FindBeyondLimit(const v1::Calibration& calibration, double tolerance);

// A sentence for each sustained multiplication that is faster than a GPU's matrix units at the
// clock of its sample: the counted clock where there is one, else the driver's. Either may be
// wrong.
std::vector<std::string> BeyondItsClock(const v1::Calibration& calibration, double tolerance);

// The data types whose multiplications have no limit to compare with, e.g. {"int8"}, each once:
// their rates can't be checked for plausibility.
std::vector<std::string> TypesWithoutLimit(const v1::Calibration& calibration);

// Figures that a measurement should have and does not.
//
// These are figures that more than half of `references` have and `judged` lacks, or has without a
// single shape and library in common with any of them. Only references of modes that measure no
// more than the judged one's count. `whose` names them, e.g. "its history".
//
// CRITICAL where the measurement had time for all that it planned: the device lost an ability, e.g.
// a data type. UNKNOWN where it was cut short. Nothing in common is a WARNING.
std::vector<Finding> FindMissing(const MeasuredDevice& judged,
                                 absl::Span<const MeasuredDevice* const> references,
                                 absl::string_view whose);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_FINDINGS_H_
