#include "engine/run/operation_requirement.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/precondition.h"
#include "engine/run/unmeasured.h"

namespace sextant {
namespace {

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
  // The demand, of somebody who is refused.
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
  if (!device_.device.has_value()) return;
  auto text = NotRecentText(*device_.device, device_.requirement, requirement_path_);
  if (text.has_value()) Add(device_.device->uuid, *std::move(text));
}

// How to name a device whose rates are good enough.
std::string MissingRates::Remedy() const {
  const RateSource minimum = *device_.requirement.minimum_source;
  if (minimum == RateSource::kMeasuredSupplied) {
    return absl::StrCat("give a calibration in ", FieldPath(path_, "calibration"));
  }
  return absl::StrCat("name a ", minimum == RateSource::kDatasheet ? "" : "measured ", "device in ",
                      path_, ".",
                      minimum == RateSource::kDatasheet ? "accelerator, device_uuid or calibration"
                                                        : "device_uuid or calibration");
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
    OfRequest(device_.device.has_value() ? device_.device->uuid : used.front().device);
  }
  const auto own = std::find_if(used.begin(), used.end(), [this](const Rate& rate) {
    return rate.source != RateSource::kRequest && IsTooWeak(rate.source);
  });
  if (own == used.end()) return;
  if (device_.device.has_value()) {
    const absl::string_view uuid = device_.device->uuid;
    Add(uuid, absl::StrCat("device ", uuid, " has this server's own rates, and ", Demand(), ": ",
                           "give its calibration in ", FieldPath(path_, "calibration")));
  } else {
    Add(own->device, absl::StrCat("no measured rate of ", own->device, " was named, and ", Demand(),
                                  ": ", Remedy()));
  }
}

void MissingRates::OfPrediction(const KernelSource& source) {
  if (!IsTooWeak(source.source)) return;
  const std::string name = absl::AsciiStrToUpper(RateSourceName(source.source));
  Add(source.device,
      absl::StrCat("no kernel of this kind was measured of this ", source.device,
                   ", so that its time is predicted from ", name, " figures, and ", Demand(),
                   ": measure it again with sextant probe, or demand ", name));
}

}  // namespace

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
