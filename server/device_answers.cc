#include "server/device_answers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/field_violation.h"
#include "engine/base/precondition.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "server/calibration_age.h"
#include "server/convert/annotate_calibration.h"
#include "server/unknown_device.h"

namespace sextant {
namespace {

absl::StatusOr<const v1::Device*> DeviceMeant(const std::string& uuid,
                                              const CalibrationSnapshot& host) {
  if (!uuid.empty()) {
    const v1::Device* device = host.FindDevice(uuid);
    if (device == nullptr) return UnknownDevice(UnknownDeviceMessage(uuid, host.devices));
    return device;
  }
  if (host.devices.empty()) return UnknownDevice("this host has no device that can be measured");
  if (host.devices.size() == 1) return &host.devices.front();
  const auto is_gpu = [](const v1::Device& device) { return device.kind() == v1::DEVICE_KIND_GPU; };
  if (std::count_if(host.devices.begin(), host.devices.end(), is_gpu) == 1) {
    return &*std::find_if(host.devices.begin(), host.devices.end(), is_gpu);
  }
  std::vector<std::string> uuids;
  for (const v1::Device& device : host.devices) uuids.push_back(device.uuid());
  return InvalidField("device_uuid", absl::StrCat("is required, since this host has several: ",
                                                  absl::StrJoin(uuids, ", ")));
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

}  // namespace

void AnswerListDevices(const CalibrationSnapshot& host, std::chrono::system_clock::time_point now,
                       v1::ListDevicesResponse* response) {
  for (const v1::Device& device : host.devices) {
    v1::ListDevicesResponse::Entry* entry = response->add_devices();
    *entry->mutable_device() = device;
    AnnotateDevice(entry->mutable_device());
    entry->set_distrusted(host.distrusted.count(device.uuid()) > 0);
    const StoredCalibration* stored = host.Find(device.uuid());
    if (stored == nullptr) continue;
    *entry->mutable_measured_time() = stored->calibration.measured_time();
    entry->set_age_seconds(CalibrationAgeSeconds(stored->calibration, now));
    entry->set_fingerprint(stored->fingerprint);
  }
  response->set_engine_version(std::string(EngineVersion()));
}

absl::Status AnswerGetCalibration(const v1::GetCalibrationRequest& request,
                                  const CalibrationSnapshot& host,
                                  std::chrono::system_clock::time_point now,
                                  v1::GetCalibrationResponse* response) {
  SEXTANT_ASSIGN_OR_RETURN(const v1::Device* device, DeviceMeant(request.device_uuid(), host));
  const StoredCalibration* stored = host.Find(device->uuid());
  if (stored == nullptr) return NotMeasured(*device, host.distrusted.count(device->uuid()) > 0);
  *response->mutable_calibration() = stored->calibration;
  AnnotateCalibration(response->mutable_calibration());
  response->set_age_seconds(CalibrationAgeSeconds(stored->calibration, now));
  response->set_fingerprint(stored->fingerprint);
  response->set_engine_version(std::string(EngineVersion()));
  return absl::OkStatus();
}

}  // namespace sextant
