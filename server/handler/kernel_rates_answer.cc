#include "server/handler/kernel_rates_answer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/placement.h"
#include "engine/run/rate_requirement.h"
#include "engine/run/run_spec.h"
#include "engine/time/kernel_curves.h"
#include "server/convert/calibration.h"
#include "server/convert/enums.h"
#include "server/convert/kernel.h"
#include "server/convert/notes.h"
#include "server/probe/device_list.h"

namespace sextant::server {
namespace {

constexpr int kMaxDataTypes = 16;

using Models = std::vector<std::shared_ptr<const DeviceModel>>;

void CheckDevice(const v1::GetKernelRatesRequest& request, FieldViolations& violations) {
  const int named = (request.accelerator().empty() ? 0 : 1) +
                    (request.device_uuids().empty() ? 0 : 1) +
                    (request.calibrations().empty() ? 0 : 1);
  if (named != 1) {
    violations.Add("accelerator", named == 0
                                      ? "is required where neither device_uuids nor calibrations "
                                        "name a device, e.g. h100-sxm"
                                      : "is one of three ways to name a device: give one of "
                                        "accelerator, device_uuids and calibrations");
  }
  if (request.device_uuids_size() > kMaxNamedDevices) {
    violations.Add("device_uuids", absl::StrCat("are ", request.device_uuids_size(),
                                                ": name at most ", kMaxNamedDevices));
  }
  if (request.calibrations_size() > kMaxCalibrations) {
    violations.Add("calibrations", absl::StrCat("are ", request.calibrations_size(),
                                                ": give at most ", kMaxCalibrations));
  }
}

// Models of the request's own calibrations; none where the list is too long.
Models SuppliedOf(const v1::GetKernelRatesRequest& request, SuppliedCalibrations& supplied,
                  FieldViolations& violations) {
  Models out;
  if (request.calibrations_size() > kMaxCalibrations) return out;
  for (int i = 0; i < request.calibrations_size(); ++i) {
    out.push_back(supplied.ModelOf(request.calibrations(i), absl::StrCat("calibrations[", i, "]"),
                                   violations));
  }
  return out;
}

std::vector<DataType> TypesOf(const v1::GetKernelRatesRequest& request,
                              FieldViolations& violations) {
  std::vector<DataType> out;
  if (request.data_types_size() > kMaxDataTypes) {
    violations.Add("data_types", absl::StrCat("are ", request.data_types_size(), ": name at most ",
                                              kMaxDataTypes));
    return out;
  }
  for (int i = 0; i < request.data_types_size(); ++i) {
    const std::string field = absl::StrCat("data_types[", i, "]");
    const DataType type =
        DataTypeFrom(static_cast<v1::DataType>(request.data_types(i)), field, violations);
    if (request.data_types(i) == v1::DATA_TYPE_UNSPECIFIED) {
      violations.Add(field, "names no data type: write one, e.g. DATA_TYPE_BF16");
    }
    out.push_back(type);
  }
  return out;
}

absl::StatusOr<Models> StoredOf(const v1::GetKernelRatesRequest& request,
                                const CalibrationSnapshot& host, absl::Time now) {
  Models out;
  std::vector<PreconditionViolation> missing;
  for (const std::string& name : request.device_uuids()) {
    const v1::Device* device = host.FindDevice(name);
    if (device == nullptr) return UnknownDevice(UnknownDeviceMessage(name, host.devices));
    const StoredCalibration* stored = host.Find(name, {.now = now});
    if (stored != nullptr) {
      out.push_back(stored->model);
      continue;
    }
    const bool distrusted = host.distrusted.count(device->uuid()) > 0;
    missing.push_back({kRatesNotMeasured, device->uuid(),
                       distrusted ? DistrustedText(device->uuid())
                                  : NeverMeasuredText(device->uuid(), "name it by accelerator")});
  }
  if (!missing.empty()) return FailedPrecondition(kRatesNotMeasured, missing);
  return out;
}

Placement PlacementOf(const Models& models, RateSource source) {
  std::vector<const DeviceModel*> out;
  for (const auto& model : models) out.push_back(model.get());
  return sextant::PlacementOf(out, source);
}

}  // namespace

absl::Status AnswerKernelRates(const v1::GetKernelRatesRequest& request,
                               const CalibrationSnapshot& host, absl::Time now,
                               SuppliedCalibrations& supplied,
                               v1::GetKernelRatesResponse* response) {
  FieldViolations violations;
  CheckDevice(request, violations);
  const Models given = SuppliedOf(request, supplied, violations);
  CheckNoneAhead(request.calibrations(), "calibrations", now, violations);
  std::vector<DataType> types = TypesOf(request, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  Placement devices = PlacementOf(given, RateSource::kMeasuredSupplied);
  if (!request.accelerator().empty()) {
    SEXTANT_ASSIGN_OR_RETURN(const Accelerator* accelerator,
                             FindAccelerator(request.accelerator()));
    const CalibrationQuery query = {.now = now};
    devices = PlacementOfProduct(*accelerator, host.TrustedModels(query), absl::nullopt);
  } else if (!request.device_uuids().empty()) {
    SEXTANT_ASSIGN_OR_RETURN(const Models stored, StoredOf(request, host, now));
    devices = PlacementOf(stored, RateSource::kMeasuredDevice);
  }
  if (types.empty()) types = devices.MeasuredTypes();
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<KernelCurve> curves,
                           KernelCurvesOf(devices.devices, devices.join, types));
  if (curves.empty()) {
    return InvalidField("data_types",
                        "are none that anything is known of on this device: see sextant "
                        "accelerators, or what was measured by sextant calibration");
  }
  response->set_device(std::string(curves.front().source.device));
  SourceNumbers sources(response->mutable_sources());
  for (const KernelCurve& curve : curves) KernelCurveTo(curve, sources, response->add_curves());
  devices.notes.push_back(
      {NoteKind::kBurstTimes,
       "Times are of short bursts, one kernel at a time: a long run's clocks may be lower."});
  NotesTo(std::move(devices.notes), response->mutable_warnings(), response->mutable_assumptions());
  return absl::OkStatus();
}

}  // namespace sextant::server
