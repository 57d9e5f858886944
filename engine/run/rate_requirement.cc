#include "engine/run/rate_requirement.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/precondition.h"
#include "engine/base/utc_text.h"
#include "engine/run/unmeasured.h"

namespace sextant {
namespace {

// How far two hosts' clocks may differ before an age says nothing.
constexpr double kClockSlackSeconds = 60;

// Collects what is missing; one method a kind.
class Missing {
 public:
  Missing(const RunSpec& run, const ResolvedRun& resolved) : run_(run), resolved_(resolved) {}

  absl::Status ToStatus() const {
    return violations_.empty() ? absl::OkStatus()
                               : FailedPrecondition(kRatesNotMeasured, violations_);
  }

  void Collect() {
    for (const NamedDevice& device : run_.cluster.devices) OfDevice(device);
    for (const DeviceCalibration& c : run_.cluster.calibrations) OfCalibration(c);
    OfSource();
  }

 private:
  void Add(absl::string_view subject, std::string description) {
    violations_.push_back({kRatesNotMeasured, std::string(subject), std::move(description)});
  }

  void OfDevice(const NamedDevice& device);
  void OfCalibration(const DeviceCalibration& calibration);
  void OfSource();

  const RunSpec& run_;
  const ResolvedRun& resolved_;
  std::vector<PreconditionViolation> violations_;
};

void Missing::OfDevice(const NamedDevice& device) {
  const absl::optional<double> limit = run_.rate_requirement.maximum_age_seconds;
  if (device.distrusted) {
    Add(device.uuid, DistrustedText(device.uuid));
  } else if (!device.calibration.has_value()) {
    Add(device.uuid, NeverMeasuredText(device.uuid, "plan by cluster.accelerator"));
  } else if (limit.has_value() && device.age_seconds < -kClockSlackSeconds) {
    Add(device.uuid,
        absl::StrFormat("device %s was measured in the future, at %s, so its age is not known to "
                        "be within rate_requirement.maximum_age: compare the clocks, or measure "
                        "it again with sextant probe (HardwareService.RunProbe)",
                        device.uuid, UtcText(device.calibration->measured_unix_seconds)));
  } else if (limit.has_value() && device.age_seconds > *limit) {
    Add(device.uuid,
        absl::StrFormat("device %s was measured at %s, %.0f seconds ago, and "
                        "rate_requirement.maximum_age is %g seconds: measure it again with "
                        "sextant probe (HardwareService.RunProbe)",
                        device.uuid, UtcText(device.calibration->measured_unix_seconds),
                        device.age_seconds, *limit));
  } else {
    OfCalibration(*device.calibration);
  }
}

void Missing::OfCalibration(const DeviceCalibration& calibration) {
  const DataType type = resolved_.precision.compute_data_type;
  if (calibration.MatmulIn(type) != nullptr) return;
  Add(calibration.uuid, NotInTypeText(calibration, type, "training.precision.compute_data_type"));
}

// The rate that the times stand on is the measured one where there is one, else the peak.
void Missing::OfSource() {
  const absl::optional<RateSource> minimum = run_.rate_requirement.minimum_source;
  if (!minimum.has_value() || resolved_.matmul_source() <= *minimum) return;
  const std::string demand = absl::StrCat("rate_requirement.minimum_source is ",
                                          absl::AsciiStrToUpper(RateSourceName(*minimum)));
  if (!run_.cluster.devices.empty()) {
    for (const NamedDevice& device : run_.cluster.devices) {
      Add(device.uuid, absl::StrCat("device ", device.uuid, " has this server's own rates, and ",
                                    demand, ": give its calibration in cluster.calibrations"));
    }
  } else if (*minimum == RateSource::kDatasheet) {
    Add(resolved_.device_name,
        absl::StrCat("the peak of ", resolved_.device_name, " is the request's own figure, and ",
                     demand, ": leave cluster.peak_flops_per_second out for the datasheet's"));
  } else {
    Add(resolved_.device_name,
        absl::StrCat("no measured rate of ", resolved_.device_name, " was named, and ", demand,
                     ": name measured devices in cluster.",
                     *minimum == RateSource::kMeasuredSupplied ? "calibrations"
                                                               : "device_uuids or calibrations"));
  }
}

}  // namespace

absl::Status CheckRates(const RunSpec& run, const ResolvedRun& resolved) {
  Missing missing(run, resolved);
  missing.Collect();
  return missing.ToStatus();
}

}  // namespace sextant
