#include "engine/operation/utilisation.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr double kMaxFlops = 1e40;
constexpr double kMinSeconds = 1e-15;  // so that every quotient is finite
constexpr double kMaxSeconds = 1e24;
constexpr double kMinMeasuredRate = 1;
constexpr double kMaxMeasuredRate = 1e24;
constexpr int64_t kMaxDevices = 1'000'000'000;

UtilisationReading ReadingOf(double ratio) {
  if (ratio > 1) return UtilisationReading::kImpossible;
  if (ratio >= 0.5) return UtilisationReading::kGood;
  if (ratio >= 0.3) return UtilisationReading::kUsual;
  if (ratio >= 0.1) return UtilisationReading::kLow;
  return UtilisationReading::kWaiting;
}

absl::string_view ExplanationOf(UtilisationReading reading) {
  switch (reading) {
    case UtilisationReading::kImpossible:
      return "Impossible: the peak is another format's, the time was taken before the device had "
             "finished, or FLOPs are counted that are not done (a full mask where half is).";
    case UtilisationReading::kGood:
      return "Good: most of the time is matrix arithmetic.";
    case UtilisationReading::kUsual:
      return "Usual for training at scale; communication, memory-bound steps and recompute take "
             "the rest. If the peak counts structured sparsity, the true figure is twice this.";
    case UtilisationReading::kLow:
      return "Low: look for exposed communication, small batches, unfused elementwise steps, or "
             "arithmetic off the matrix units. If the peak counts structured sparsity, the true "
             "figure is twice this.";
    case UtilisationReading::kWaiting:
      break;
  }
  return "The device is waiting. The usual causes: the data loader, communication that nothing "
         "hides, tiny batches or many small kernels, and a format that the matrix units don't "
         "take. If the peak counts structured sparsity, the true figure is twice this.";
}

}  // namespace

absl::StatusOr<Utilisation> UtilisationOf(const AchievedTime& a) {
  FieldViolations violations;
  violations.RequireRange("", "flops", a.flops.value(),
                          FieldViolations::RealRange{.low = 0, .high = kMaxFlops});
  violations.RequireRange("", "seconds", a.time.value(),
                          FieldViolations::RealRange{.low = kMinSeconds, .high = kMaxSeconds});
  violations.RequireRange(
      "", "peak_flops_per_second", a.peak.value(),
      FieldViolations::RealRange{.low = kMinMeasuredRate, .high = kMaxMeasuredRate});
  violations.Require("", "device_count", a.device_count, 1, kMaxDevices);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  const Seconds at_peak = a.flops / (a.peak * static_cast<double>(a.device_count));
  const double ratio = at_peak.value() / a.time.value();
  const UtilisationReading reading = ReadingOf(ratio);
  return Utilisation{.ratio = ratio, .reading = reading, .explanation = ExplanationOf(reading)};
}

std::string ExplanationOf(const Utilisation& utilisation, const Roofline& roofline,
                          Seconds achieved) {
  if (roofline.bound != RooflineBound::kMemory ||
      utilisation.reading == UtilisationReading::kImpossible) {
    return std::string(utilisation.explanation);
  }
  const double times = achieved.value() / roofline.classical.value();
  const std::string limit = absl::StrFormat(
      "Memory bounds the operation, so that its MFU says little: the roofline allows %.3g %%, and "
      "it took %.3g times the roofline's least time.",
      100 * utilisation.ratio * times, times);
  return times >= 1 ? limit
                    : absl::StrCat(limit,
                                   " Less than once: the data was in a cache, or the time was "
                                   "taken before the device had finished.");
}

}  // namespace sextant
