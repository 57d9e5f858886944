#include "server/handler/device_answers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/device_selection.h"
#include "engine/hardware/placement.h"
#include "engine/time/kernel_curves.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/enums.h"
#include "server/convert/kernel.h"
#include "server/convert/message_fields.h"
#include "server/convert/notes.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/device_names.h"

namespace sextant::server {
namespace {

constexpr int kMaxDataTypes = 16;
constexpr char kDevicePath[] = "device";

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
        DataTypePair::From(static_cast<v1::DataType>(request.data_types(i)), field, violations);
    if (request.data_types(i) == v1::DATA_TYPE_UNSPECIFIED) {
      violations.Add(field, "names no data type: write one, e.g. DATA_TYPE_BF16");
    }
    out.push_back(type);
  }
  return out;
}

// Models are fitted anew to what a request brings, each in up to some milliseconds. Those of the
// host's devices are kept.
constexpr size_t kMaxFits = 16;
// A model of attention takes the longest for each of its measurements.
constexpr int kMaxFittedAttentions = 1024;

absl::Status CheckFits(const v1::DeviceSelector& device, size_t types) {
  const auto& calibrations = device.calibrations().calibrations();
  const auto count = static_cast<size_t>(calibrations.size());
  if (count * types > kMaxFits) {
    return InvalidField("data_types",
                        absl::StrCat("are ", types, " of ", count, " calibrations, of which ",
                                     "models are fitted: at most ", kMaxFits,
                                     " in one call; name fewer data types, or give fewer "
                                     "calibrations"));
  }
  int attentions = 0;
  for (const v1::Calibration& each : calibrations) attentions += each.attentions_size();
  if (attentions <= kMaxFittedAttentions) return absl::OkStatus();
  return InvalidField(absl::StrCat(kDevicePath, ".calibrations"),
                      absl::StrCat("hold ", attentions,
                                   " attentions, to which models are fitted: "
                                   "at most ",
                                   kMaxFittedAttentions, " in one call; give fewer calibrations"));
}

// Errors: kNotFound, of the only unknown name; kFailedPrecondition RATES_NOT_MEASURED.
absl::StatusOr<Placement> PlacementFor(const DeviceSelection& selection,
                                       const DeviceResolver& resolver,
                                       FieldViolations& violations) {
  std::vector<UnknownName> unknown;
  const Accelerator* const accelerator = FindSelected(selection, kDevicePath, unknown);
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(unknown, violations));
  if (accelerator != nullptr && selection.models().empty()) {
    return PlacementOfProduct(*accelerator, resolver.TrustedModels(), absl::nullopt);
  }
  SEXTANT_RETURN_IF_ERROR(CheckMeasured(selection, "name it by device.accelerator"));
  return PlacementOf(selection.models(), selection.source());
}

absl::StatusOr<const v1::Device*> DeviceMeant(const v1::GetCalibrationRequest& request,
                                              const CalibrationSnapshot& host) {
  if (request.has_device()) {
    const std::string& name = request.device();
    FieldViolations violations;
    if (!RequireDeviceName(name, "device", violations)) return violations.ToStatus();
    const v1::Device* device = host.FindDevice(name);
    if (device == nullptr) return WithField(UnknownDevice(name, host.devices), "device");
    return device;
  }
  if (host.devices.empty()) return NoDevice("this host has no device that can be measured");
  if (host.devices.size() == 1) return &host.devices.front();
  const auto is_gpu = [](const v1::Device& device) { return device.kind() == v1::DEVICE_KIND_GPU; };
  if (std::count_if(host.devices.begin(), host.devices.end(), is_gpu) == 1) {
    return &*std::find_if(host.devices.begin(), host.devices.end(), is_gpu);
  }
  std::vector<std::string> uuids;
  for (const v1::Device& device : host.devices) uuids.push_back(device.uuid());
  return InvalidField("device", absl::StrCat("is required, since this host has several: ",
                                             absl::StrJoin(uuids, ", ")));
}

std::string ModeName(v1::ProbeMode mode) {
  return EnumLabel(v1::ProbeMode_Name(mode), "PROBE_MODE_");
}

absl::Status NotMeasured(const v1::Device& device, bool distrusted) {
  constexpr char kReason[] = "RATES_NOT_MEASURED";
  return FailedPrecondition(
      kReason,
      {{kReason, device.uuid(),
        absl::StrCat("device ", device.uuid(), " (", device.product_name(), ") ",
                     distrusted ? "had a wrong result in its last probe, so its calibration is "
                                  "withdrawn: have it looked at, and run "
                                : "was never measured: run ",
                     "sextant probe, or HardwareService.RunProbe")}});
}

absl::Status NotMeasuredIn(v1::ProbeMode mode, const DeviceCalibrations& kept) {
  constexpr char kReason[] = "RATES_NOT_MEASURED";
  std::vector<std::string> modes;
  for (const auto& stored : kept.by_mode) modes.push_back(ModeName(stored->calibration.mode()));
  const std::string& uuid = kept.device.uuid();
  return FailedPrecondition(
      kReason, {{kReason, uuid,
                 absl::StrCat("device ", uuid, " has no ", ModeName(mode), " calibration, only: ",
                              absl::StrJoin(modes, ", "), "; run sextant probe --mode=",
                              ModeName(mode), ", or leave out mode for the one in use")}});
}

}  // namespace

void AnswerListDevices(const CalibrationSnapshot& host, std::chrono::system_clock::time_point now,
                       v1::ListDevicesResponse* response) {
  for (const v1::Device& device : host.devices) {
    v1::ListDevicesResponse::Entry* entry = response->add_devices();
    *entry->mutable_device() = device;
    AnnotateDevice(entry->mutable_device());
    entry->set_distrusted(host.distrusted.count(device.uuid()) > 0);
    const StoredCalibration* stored = host.Find(device.uuid(), {.now = absl::FromChrono(now)});
    if (stored == nullptr) continue;
    *entry->mutable_measured_time() = stored->calibration.measured_time();
    entry->set_age_seconds(CalibrationAgeSeconds(stored->calibration, now));
    entry->set_fingerprint(stored->fingerprint);
  }
}

absl::Status AnswerGetCalibration(const v1::GetCalibrationRequest& request,
                                  const CalibrationSnapshot& host,
                                  std::chrono::system_clock::time_point now,
                                  v1::GetCalibrationResponse* response) {
  if (!v1::ProbeMode_IsValid(request.mode())) {
    return InvalidField("mode", check::UnknownEnumNumber(request.mode()));
  }
  SEXTANT_ASSIGN_OR_RETURN(const v1::Device* device, DeviceMeant(request, host));
  const DeviceCalibrations* kept = host.FindAll(device->uuid());
  if (kept == nullptr) return NotMeasured(*device, host.distrusted.count(device->uuid()) > 0);
  const auto in_use = host.InUse(*kept, {.now = absl::FromChrono(now)});
  const bool any = request.mode() == v1::PROBE_MODE_UNSPECIFIED;
  const auto stored = any ? in_use : kept->OfMode(request.mode());
  if (stored == nullptr) return NotMeasuredIn(request.mode(), *kept);
  *response->mutable_calibration() = stored->calibration;
  AnnotateCalibration(response->mutable_calibration());
  response->set_age_seconds(CalibrationAgeSeconds(stored->calibration, now));
  response->set_fingerprint(stored->fingerprint);
  response->set_in_use(stored == in_use);
  return absl::OkStatus();
}

absl::Status AnswerKernelRates(const v1::GetKernelRatesRequest& request,
                               const DeviceResolver& resolver, CallWork& work,
                               v1::GetKernelRatesResponse* response) {
  FieldViolations violations;
  const DeviceSelection selection =
      resolver.Resolve(request.device(), kDevicePath, absl::nullopt, violations);
  CheckSelection(selection, kDevicePath, violations);
  std::vector<DataType> types = TypesOf(request, violations);
  SEXTANT_ASSIGN_OR_RETURN(Placement devices, PlacementFor(selection, resolver, violations));
  if (types.empty()) types = devices.MeasuredTypes();
  SEXTANT_RETURN_IF_ERROR(CheckFits(request.device(), types.size()));
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<KernelCurve> curves,
                           KernelCurvesOf(devices.devices, devices.join, types, work));
  if (curves.empty()) {
    return InvalidField("data_types",
                        "are none that anything is known of on this device: see sextant "
                        "accelerators, or what was measured by sextant calibration");
  }
  response->set_device(std::string(curves.front().source.device));
  SourceNumbers numbers(response->mutable_sources());
  for (const KernelCurve& curve : curves) KernelCurveTo(curve, numbers, response->add_curves());
  devices.notes.push_back(
      {NoteKind::kBurstTimes,
       "Times are of short bursts, one kernel at a time: a long run's clocks may be lower."});
  NotesTo(std::move(devices.notes), response->mutable_warnings(), response->mutable_assumptions());
  return absl::OkStatus();
}

}  // namespace sextant::server
