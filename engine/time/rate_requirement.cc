#include "engine/time/rate_requirement.h"

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

constexpr double kMaxAgeSeconds = 315'576'000'000;  // the limit of google.protobuf.Duration

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

// Collects missing rates of `devices`, as `requirement` demands them, whose field is `path`.
class MissingRates {
 public:
  MissingRates(const DeviceSelection& devices, const RateRequirement& requirement,
               absl::string_view path)
      : devices_(devices), requirement_(requirement), path_(path) {}

  absl::Status ToStatus() const {
    return violations_.empty() ? absl::OkStatus()
                               : FailedPrecondition(kRatesNotMeasured, violations_);
  }

  void Add(absl::string_view subject, std::string description) {
    violations_.push_back({kRatesNotMeasured, std::string(subject), std::move(description)});
  }

  bool IsTooWeak(RateSource source) const {
    return requirement_.minimum_source.has_value() && source > *requirement_.minimum_source;
  }
  // The demand that a rate does not meet: "rate_requirement.minimum_source is MEASURED_DEVICE".
  std::string Demand() const {
    return absl::StrCat(path_, ".minimum_source is ",
                        absl::AsciiStrToUpper(RateSourceName(*requirement_.minimum_source)));
  }

  // Returns true where the calibration of `device` is from the future, or too old.
  bool AddAge(const NamedDevice& device);
  // The same of a fleet's devices, and of what was read too long ago.
  void AddFleetAge(absl::string_view subject);
  // The named devices' own rates do not meet the demand: calibrations may, whose field is given.
  void AddOwn(absl::string_view calibrations);

 private:
  const DeviceSelection& devices_;
  const RateRequirement& requirement_;
  const absl::string_view path_;
  std::vector<PreconditionViolation> violations_;
};

bool MissingRates::AddAge(const NamedDevice& device) {
  const absl::optional<double> limit = requirement_.maximum_age_seconds;
  if (!limit.has_value() || device.model == nullptr) return false;
  const std::string measured = UtcText(device.model->calibration().measured_unix_seconds);
  if (device.age_seconds < -kClockSlackSeconds) {
    Add(device.uuid,
        absl::StrFormat(
            "device %s was measured in the future, at %s, so its age is not known to be within "
            "%s.maximum_age: compare the clocks, or measure it again",
            device.uuid, measured, path_));
    return true;
  }
  if (device.age_seconds <= *limit) return false;
  Add(device.uuid,
      absl::StrFormat("device %s was measured at %s, %.0f seconds ago, and %s.maximum_age is %g "
                      "seconds: measure it again",
                      device.uuid, measured, device.age_seconds, path_, *limit));
  return true;
}

void MissingRates::AddFleetAge(absl::string_view subject) {
  const absl::optional<double> limit = requirement_.maximum_age_seconds;
  if (!devices_.fleet.has_value() || !limit.has_value()) return;
  const FleetRates& fleet = *devices_.fleet;
  if (fleet.models.empty() || fleet.oldest_age_seconds <= *limit) return;
  Add(subject,
      absl::StrFormat("the oldest measurement of these devices is of %s, %.0f seconds ago, and "
                      "%s.maximum_age is %g seconds: have their hosts measure again",
                      UtcText(fleet.oldest_unix_seconds), fleet.oldest_age_seconds, path_, *limit));
}

void MissingRates::AddOwn(absl::string_view calibrations) {
  for (const NamedDevice& device : devices_.devices) {
    Add(device.uuid, absl::StrCat("device ", device.uuid, " has this server's own rates, and ",
                                  Demand(), ": give its calibration in ", calibrations));
  }
}

// A run's times use the measured rate where there is one, else the peak.
void CheckSource(const RunRates& run, MissingRates& missing) {
  if (!missing.IsTooWeak(run.matmul_source)) return;
  const RateSource minimum = *run.requirement.minimum_source;
  const absl::string_view name = run.device_name;
  if (!run.devices.devices.empty()) {
    missing.AddOwn("cluster.device.calibrations");
  } else if (minimum == RateSource::kDatasheet) {
    missing.Add(
        name,
        absl::StrCat("the peak of ", name, " is the request's own figure, and ", missing.Demand(),
                     ": leave cluster.peak_flops_per_second out for the datasheet's"));
  } else {
    missing.Add(name, absl::StrCat("no measured rate of ", name, " was named, and ",
                                   missing.Demand(), ": name measured devices in cluster.device.",
                                   minimum == RateSource::kMeasuredSupplied
                                       ? "calibrations"
                                       : "host_devices or calibrations"));
  }
}

// Says how to name a device whose rates are good enough. The field of the device is `path`.
std::string Remedy(RateSource minimum, absl::string_view path) {
  const std::string device = FieldPath(path, "device");
  if (minimum == RateSource::kMeasuredSupplied) {
    return absl::StrCat("give a calibration in ", device, ".calibrations");
  }
  if (minimum == RateSource::kDatasheet) return absl::StrCat("name a device in ", device);
  return absl::StrCat("name a measured device in ", device, ".host_devices or calibrations");
}

// Reports the request's own figures: nobody measured them.
void CheckGiven(const OperationDevice& device, absl::string_view path, absl::string_view subject,
                MissingRates& missing) {
  const std::pair<bool, const char*> given[] = {
      {device.matrix_flops_per_second.has_value(), "matrix_flops_per_second"},
      {device.general_flops_per_second.has_value(), "general_flops_per_second"},
      {device.memory_bytes_per_second.has_value(), "memory_bytes_per_second"}};
  for (const auto& [present, name] : given) {
    if (!present) continue;
    const std::string field = FieldPath(path, name);
    missing.Add(subject.empty() ? absl::string_view(field) : subject,
                absl::StrCat(field, " is the request's own figure, and ", missing.Demand(), ": ",
                             subject.empty() ? Remedy(*device.requirement.minimum_source, path)
                                             : "leave it out for the device's"));
  }
}

void CheckUsed(const OperationDevice& device, absl::Span<const Rate> used, absl::string_view path,
               MissingRates& missing) {
  const std::vector<NamedDevice>& devices = device.device.devices;
  if (missing.IsTooWeak(RateSource::kRequest)) {
    CheckGiven(device, path, devices.empty() ? used.front().device : devices.front().uuid, missing);
  }
  const auto own = std::find_if(used.begin(), used.end(), [&missing](const Rate& rate) {
    return rate.source != RateSource::kRequest && missing.IsTooWeak(rate.source);
  });
  if (own == used.end()) return;
  missing.AddOwn(FieldPath(path, "device.calibrations"));
  if (!devices.empty()) return;
  missing.Add(own->device, absl::StrCat("no measured rate of ", own->device, " was named, and ",
                                        missing.Demand(), ": ",
                                        Remedy(*device.requirement.minimum_source, path)));
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

absl::Status CheckRates(const RunRates& run) {
  const DeviceSelection& selection = run.devices;
  MissingRates missing(selection, run.requirement, "rate_requirement");
  const auto check_type = [&](const DeviceCalibration& calibration) {
    if (calibration.MatmulIn(run.type) != nullptr) return;
    missing.Add(calibration.uuid,
                NotInTypeText(calibration, run.type, "training.precision.compute_data_type"));
  };
  for (const NamedDevice& device : selection.devices) {
    auto text = UnmeasuredText(device, "plan by cluster.device.accelerator");
    if (text.has_value()) {
      missing.Add(device.uuid, *std::move(text));
    } else if (!missing.AddAge(device)) {
      check_type(device.model->calibration());
    }
  }
  for (const auto& model : selection.calibrations) check_type(model->calibration());
  if (selection.fleet.has_value()) {
    for (const auto& model : selection.fleet->models) check_type(model->calibration());
    missing.AddFleetAge(run.device_name);
  }
  CheckSource(run, missing);
  return missing.ToStatus();
}

absl::Status CheckOperationRates(const OperationDevice& device, absl::Span<const Rate> used,
                                 absl::string_view path) {
  const std::string requirement = FieldPath(path, "rate_requirement");
  MissingRates missing(device.device, device.requirement, requirement);
  for (const NamedDevice& each : device.device.devices) missing.AddAge(each);
  missing.AddFleetAge(device.device.accelerator);
  CheckUsed(device, used, path, missing);
  return missing.ToStatus();
}

absl::Status CheckPredictionSource(const OperationDevice& device, const KernelSource& source,
                                   absl::string_view path) {
  const std::string requirement = FieldPath(path, "rate_requirement");
  MissingRates missing(device.device, device.requirement, requirement);
  if (missing.IsTooWeak(source.source)) {
    const std::string name = absl::AsciiStrToUpper(RateSourceName(source.source));
    missing.Add(source.device,
                absl::StrCat("no kernel of this kind was measured of this ", source.device,
                             ", so that its time is predicted from ", name, " figures, and ",
                             missing.Demand(), ": measure it again, or demand ", name));
  }
  return missing.ToStatus();
}

}  // namespace sextant
