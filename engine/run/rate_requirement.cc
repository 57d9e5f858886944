#include "engine/run/rate_requirement.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/precondition.h"
#include "engine/run/unmeasured.h"

namespace sextant {
namespace {

constexpr char kRequirementPath[] = "rate_requirement";
constexpr double kMaxAgeSeconds = 315'576'000'000;  // google.protobuf.Duration's own

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
  if (device.distrusted) {
    Add(device.uuid, DistrustedText(device.uuid));
  } else if (!device.calibration.has_value()) {
    Add(device.uuid, NeverMeasuredText(device.uuid, "plan by cluster.accelerator"));
  } else if (auto text = NotRecentText(device, run_.rate_requirement, kRequirementPath);
             text.has_value()) {
    Add(device.uuid, *std::move(text));
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
  const std::string demand = DemandText(*minimum, kRequirementPath);
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

void CheckRequirement(const RateRequirement& requirement, absl::string_view path,
                      FieldViolations& violations) {
  if (requirement.minimum_source == RateSource::kRequest) {
    violations.Add(
        FieldPath(path, "minimum_source"),
        "can't be RATE_SOURCE_REQUEST, which is no measurement: write MEASURED_SUPPLIED, "
        "MEASURED_DEVICE, MEASURED_MODEL, REFERENCE or DATASHEET, or leave it out for any");
  }
  if (!requirement.maximum_age_seconds.has_value()) return;
  violations.RequireRange(path, "maximum_age", *requirement.maximum_age_seconds,
                          {.low = 0, .high = kMaxAgeSeconds, .above_low = true});
}

absl::Status CheckRates(const RunSpec& run, const ResolvedRun& resolved) {
  Missing missing(run, resolved);
  missing.Collect();
  return missing.ToStatus();
}

}  // namespace sextant
