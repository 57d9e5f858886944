#include "gpu_probe/health/conditions_rule.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/statistics.h"

namespace sextant {
namespace {

// Clocks come in steps of 15 MHz, and power by a counter that is read now and then.
constexpr double kLeastClockDeficit = 0.01;
constexpr double kLeastPowerDeficit = 0.03;
constexpr double kHertzPerMegahertz = 1e6;

struct Deficit {
  double share = 0;  // below the references' median; 0 or less: not below it
  double own = 0;
  double median = 0;
};

// Of a condition that `of` reads, 0 where it is not told.
template <typename Read>
Deficit DeficitOf(const MeasuredDevice& judged, absl::Span<const MeasuredDevice* const> references,
                  Read of) {
  const double own = of(judged.calibration.conditions());
  std::vector<double> others;
  for (const MeasuredDevice* reference : references) {
    const double value = of(reference->calibration.conditions());
    if (value > 0) others.push_back(value);
  }
  if (!(own > 0) || others.empty()) return {};
  const double median = Median(others);
  return {.share = 1 - own / median, .own = own, .median = median};
}

Finding HeldDown(HealthStatus status, double share, int readings, absl::string_view by,
                 absl::string_view advice) {
  return {.status = status,
          .rule = "throttle",
          .unit = "ratio",
          .value = share,
          .reference = 0,
          .ratio = share,
          .message = absl::StrCat(by, " held its clock down in ", PercentText(share), " of ",
                                  readings, " readings: ", advice)};
}

}  // namespace

std::vector<Finding> FindThrottling(const v1::Calibration& calibration) {
  std::vector<Finding> findings;
  const v1::OperatingConditions& c = calibration.conditions();
  if (c.hardware_throttle_ratio() > 0) {
    findings.push_back(HeldDown(HealthStatus::kCritical, c.hardware_throttle_ratio(),
                                c.reading_count(), "the hardware's own protection",
                                "see to its power supply and its cooling"));
  }
  if (c.thermal_throttle_ratio() > 0) {
    findings.push_back(HeldDown(HealthStatus::kWarning, c.thermal_throttle_ratio(),
                                c.reading_count(), "heat", "see to its cooling"));
  }
  return findings;
}

std::string LowClockText(const MeasuredDevice& judged,
                         absl::Span<const MeasuredDevice* const> references,
                         absl::string_view whose) {
  const Deficit clock = DeficitOf(judged, references, [](const v1::OperatingConditions& c) {
    return c.sm_clock_hertz() / kHertzPerMegahertz;
  });
  if (clock.share <= kLeastClockDeficit) return "";
  return absl::StrFormat("its clock was %s below %s, %.0f MHz against %.0f MHz",
                         PercentText(clock.share), whose, clock.own, clock.median);
}

std::string LowPowerText(const MeasuredDevice& judged,
                         absl::Span<const MeasuredDevice* const> references,
                         absl::string_view than_whom) {
  const Deficit power = DeficitOf(judged, references,
                                  [](const v1::OperatingConditions& c) { return c.power_watts(); });
  if (power.share <= kLeastPowerDeficit) return "";
  return absl::StrFormat("it drew %s less power than %s, %.0f W against %.0f W",
                         PercentText(power.share), than_whom, power.own, power.median);
}

bool GoesByClock(absl::string_view figure) {
  return absl::StartsWith(figure, "matmul") || figure == "elementwise arithmetic" ||
         figure == "all figures";
}

}  // namespace sextant
