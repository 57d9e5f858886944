#include "engine/run/rate_requirement.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/reason.h"
#include "engine/base/text.h"
#include "engine/memory/training_policy.h"

namespace sextant {
namespace {

// The clock difference between two hosts that an age tolerates.
constexpr double kClockSlackSeconds = 60;

// Returns " (it has: fp32): set training.precision.compute_data_type to one that it has", naming
// the measured types that can compute.
std::string OtherTypes(const DeviceCalibration& calibration, absl::string_view type_field) {
  std::vector<absl::string_view> names;
  for (const MeasuredMatmul& matmul : calibration.matmuls) {
    if (CanCompute(matmul.data_type)) names.push_back(DataTypeName(matmul.data_type));
  }
  if (names.empty()) return ", nor in another floating-point type:";
  return absl::StrCat(" (it has: ", absl::StrJoin(names, ", "), "): set ", type_field,
                      " to one that it has, or");
}

// Says that the calibration of `device` is from the future, or older than `requirement` allows,
// whose field is `path`. Absent where it is neither, or where there is no calibration.
absl::optional<std::string> NotRecentText(const NamedDevice& device,
                                          const RateRequirement& requirement,
                                          absl::string_view path) {
  const absl::optional<double> limit = requirement.maximum_age_seconds;
  if (!limit.has_value() || device.model == nullptr) return absl::nullopt;
  const std::string measured = UtcText(device.model->calibration().measured_unix_seconds);
  if (device.age_seconds < -kClockSlackSeconds) {
    return absl::StrFormat(
        "device %s was measured in the future, at %s, so its age is not known to be within "
        "%s.maximum_age: compare the clocks, or measure it again",
        device.uuid, measured, path);
  }
  if (device.age_seconds <= *limit) return absl::nullopt;
  return absl::StrFormat(
      "device %s was measured at %s, %.0f seconds ago, and %s.maximum_age is %g seconds: measure "
      "it again",
      device.uuid, measured, device.age_seconds, path, *limit);
}

// The same of a fleet's devices, and of what was read too long ago.
absl::optional<std::string> FleetNotRecentText(const FleetRates& fleet,
                                               const RateRequirement& requirement,
                                               absl::string_view path) {
  const absl::optional<double> limit = requirement.maximum_age_seconds;
  if (!limit.has_value() || fleet.models.empty() || fleet.oldest_age_seconds <= *limit) {
    return absl::nullopt;
  }
  return absl::StrFormat(
      "the oldest measurement of these devices is of %s, %.0f seconds ago, and %s.maximum_age is "
      "%g seconds: have their hosts measure again",
      UtcText(fleet.oldest_unix_seconds), fleet.oldest_age_seconds, path, *limit);
}

// Returns "rate_requirement.minimum_source is MEASURED_DEVICE" for the path "rate_requirement".
std::string DemandText(RateSource minimum, absl::string_view path) {
  return absl::StrCat(path, ".minimum_source is ", absl::AsciiStrToUpper(RateSourceName(minimum)));
}

constexpr char kRequirementPath[] = "rate_requirement";
constexpr double kMaxAgeSeconds = 315'576'000'000;  // the limit of google.protobuf.Duration

// Collects missing rates; one method per kind.
class Missing {
 public:
  Missing(const RunSpec& run, const ResolvedRun& resolved) : run_(run), resolved_(resolved) {}

  absl::Status ToStatus() const {
    return violations_.empty() ? absl::OkStatus()
                               : FailedPrecondition(kRatesNotMeasured, violations_);
  }

  void Collect() {
    for (const NamedDevice& device : run_.cluster.device.devices) OfDevice(device);
    for (const auto& model : run_.cluster.device.calibrations) OfCalibration(model->calibration());
    if (run_.cluster.device.fleet.has_value()) OfFleet(*run_.cluster.device.fleet);
    OfSource();
  }

 private:
  void Add(absl::string_view subject, std::string description) {
    violations_.push_back({kRatesNotMeasured, std::string(subject), std::move(description)});
  }

  void OfDevice(const NamedDevice& device);
  void OfCalibration(const DeviceCalibration& calibration);
  void OfFleet(const FleetRates& fleet);
  void OfSource();

  const RunSpec& run_;
  const ResolvedRun& resolved_;
  std::vector<PreconditionViolation> violations_;
};

void Missing::OfDevice(const NamedDevice& device) {
  if (auto text = UnmeasuredText(device, "plan by cluster.device.accelerator"); text.has_value()) {
    Add(device.uuid, *std::move(text));
  } else if (text = NotRecentText(device, run_.rate_requirement, kRequirementPath);
             text.has_value()) {
    Add(device.uuid, *std::move(text));
  } else {
    OfCalibration(device.model->calibration());
  }
}

void Missing::OfFleet(const FleetRates& fleet) {
  for (const auto& model : fleet.models) OfCalibration(model->calibration());
  auto text = FleetNotRecentText(fleet, run_.rate_requirement, kRequirementPath);
  if (text.has_value()) Add(resolved_.device_name, *std::move(text));
}

void Missing::OfCalibration(const DeviceCalibration& calibration) {
  const DataType type = resolved_.precision.compute_data_type;
  if (calibration.MatmulIn(type) != nullptr) return;
  Add(calibration.uuid, NotInTypeText(calibration, type, "training.precision.compute_data_type"));
}

// The times use the measured rate where there is one, else the peak.
void Missing::OfSource() {
  const absl::optional<RateSource> minimum = run_.rate_requirement.minimum_source;
  if (!minimum.has_value() || resolved_.matmul_source() <= *minimum) return;
  const std::string demand = DemandText(*minimum, kRequirementPath);
  if (!run_.cluster.device.devices.empty()) {
    for (const NamedDevice& device : run_.cluster.device.devices) {
      Add(device.uuid,
          absl::StrCat("device ", device.uuid, " has this server's own rates, and ", demand,
                       ": give its calibration in ", "cluster.device.calibrations"));
    }
  } else if (*minimum == RateSource::kDatasheet) {
    Add(resolved_.device_name,
        absl::StrCat("the peak of ", resolved_.device_name, " is the request's own figure, and ",
                     demand, ": leave cluster.peak_flops_per_second out for the datasheet's"));
  } else {
    Add(resolved_.device_name,
        absl::StrCat("no measured rate of ", resolved_.device_name, " was named, and ", demand,
                     ": name measured devices in cluster.device.",
                     *minimum == RateSource::kMeasuredSupplied ? "calibrations"
                                                               : "host_devices or calibrations"));
  }
}

class MissingRates {
 public:
  MissingRates(const OperationDevice& device, absl::string_view path)
      : device_(device), path_(path), requirement_path_(FieldPath(path, "rate_requirement")) {}

  absl::Status ToStatus() const {
    return violations_.empty() ? absl::OkStatus()
                               : FailedPrecondition(kRatesNotMeasured, violations_);
  }

  void OfAge();
  void OfRates(absl::Span<const Rate> used);
  void OfPrediction(const KernelSource& source);

 private:
  bool IsTooWeak(RateSource source) const {
    return device_.requirement.minimum_source.has_value() &&
           source > *device_.requirement.minimum_source;
  }
  // The demand that the device does not meet.
  std::string Demand() const {
    return DemandText(*device_.requirement.minimum_source, requirement_path_);
  }
  void Add(absl::string_view subject, std::string description) {
    violations_.push_back({kRatesNotMeasured, std::string(subject), std::move(description)});
  }
  void OfRequest(absl::string_view subject);
  std::string Remedy() const;

  const OperationDevice& device_;
  const absl::string_view path_;
  const std::string requirement_path_;
  std::vector<PreconditionViolation> violations_;
};

void MissingRates::OfAge() {
  for (const NamedDevice& device : device_.device.devices) {
    auto text = NotRecentText(device, device_.requirement, requirement_path_);
    if (text.has_value()) Add(device.uuid, *std::move(text));
  }
  if (!device_.device.fleet.has_value()) return;
  auto text = FleetNotRecentText(*device_.device.fleet, device_.requirement, requirement_path_);
  if (text.has_value()) Add(device_.device.accelerator, *std::move(text));
}

// Says how to name a device whose rates are good enough.
std::string MissingRates::Remedy() const {
  const RateSource minimum = *device_.requirement.minimum_source;
  if (minimum == RateSource::kMeasuredSupplied) {
    return absl::StrCat("give a calibration in ", FieldPath(path_, "device.calibrations"));
  }
  if (minimum == RateSource::kDatasheet) {
    return absl::StrCat("name a device in ", FieldPath(path_, "device"));
  }
  return absl::StrCat("name a measured device in ", FieldPath(path_, "device"),
                      ".host_devices or calibrations");
}

void MissingRates::OfRequest(absl::string_view subject) {
  const std::pair<bool, const char*> given[] = {
      {device_.matrix_flops_per_second.has_value(), "matrix_flops_per_second"},
      {device_.general_flops_per_second.has_value(), "general_flops_per_second"},
      {device_.memory_bytes_per_second.has_value(), "memory_bytes_per_second"}};
  for (const auto& [present, name] : given) {
    if (!present) continue;
    const std::string field = FieldPath(path_, name);
    Add(subject.empty() ? absl::string_view(field) : subject,
        absl::StrCat(field, " is the request's own figure, and ", Demand(), ": ",
                     subject.empty() ? Remedy() : "leave it out for the device's"));
  }
}

void MissingRates::OfRates(absl::Span<const Rate> used) {
  if (IsTooWeak(RateSource::kRequest)) {
    const std::vector<NamedDevice>& devices = device_.device.devices;
    OfRequest(devices.empty() ? used.front().device : devices.front().uuid);
  }
  const auto own = std::find_if(used.begin(), used.end(), [this](const Rate& rate) {
    return rate.source != RateSource::kRequest && IsTooWeak(rate.source);
  });
  if (own == used.end()) return;
  for (const NamedDevice& device : device_.device.devices) {
    Add(device.uuid,
        absl::StrCat("device ", device.uuid, " has this server's own rates, and ", Demand(),
                     ": give its calibration in ", FieldPath(path_, "device.calibrations")));
  }
  if (!device_.device.devices.empty()) return;
  Add(own->device, absl::StrCat("no measured rate of ", own->device, " was named, and ", Demand(),
                                ": ", Remedy()));
}

void MissingRates::OfPrediction(const KernelSource& source) {
  if (!IsTooWeak(source.source)) return;
  const std::string name = absl::AsciiStrToUpper(RateSourceName(source.source));
  Add(source.device, absl::StrCat("no kernel of this kind was measured of this ", source.device,
                                  ", so that its time is predicted from ", name, " figures, and ",
                                  Demand(), ": measure it again, or demand ", name));
}

}  // namespace

std::string NotInTypeText(const DeviceCalibration& calibration, DataType type,
                          absl::string_view type_field) {
  if (calibration.matmuls.empty() && calibration.requested_matmul_count > 0) {
    return absl::StrCat("the calibration of device ", calibration.uuid,
                        " holds only shapes that a request named, which do not stand for its best: "
                        "measure it again without naming shapes");
  }
  return absl::StrCat("device ", calibration.uuid, " has no measured matrix multiplication in ",
                      DataTypeName(type), OtherTypes(calibration, type_field), " measure it again");
}

void CheckRequirement(const RateRequirement& requirement, absl::string_view path,
                      FieldViolations& violations) {
  if (requirement.minimum_source == RateSource::kRequest) {
    violations.Add(
        FieldPath(path, "minimum_source"),
        "can't be RATE_SOURCE_REQUEST, which is not a measurement: write MEASURED_SUPPLIED, "
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

absl::Status CheckOperationRates(const OperationDevice& device, absl::Span<const Rate> used,
                                 absl::string_view path) {
  MissingRates missing(device, path);
  missing.OfAge();
  missing.OfRates(used);
  return missing.ToStatus();
}

absl::Status CheckPredictionSource(const OperationDevice& device, const KernelSource& source,
                                   absl::string_view path) {
  MissingRates missing(device, path);
  missing.OfPrediction(source);
  return missing.ToStatus();
}

}  // namespace sextant
