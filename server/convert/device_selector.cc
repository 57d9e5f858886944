#include "server/convert/device_selector.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/convert/calibration.h"
#include "server/probe/device_list.h"

namespace sextant::server {
namespace {

NamedDevice NamedDeviceFrom(const std::string& name, const CalibrationSnapshot& host,
                            const CalibrationQuery& query) {
  const v1::Device* device = host.FindDevice(name);
  if (device == nullptr) {
    return {.found = UnknownDevice(UnknownDeviceMessage(name, host.devices))};
  }
  NamedDevice out = {.found = {},
                     .uuid = device->uuid(),
                     .product_name = device->product_name(),
                     .distrusted = host.distrusted.count(device->uuid()) > 0};
  const StoredCalibration* stored = host.Find(name, query);
  if (stored == nullptr) return out;
  out.model = stored->model;
  out.age_seconds = absl::ToDoubleSeconds(
      query.now - absl::FromUnixSeconds(out.model->calibration().measured_unix_seconds));
  return out;
}

// Adds a violation of the list `field` unless it has 1 to `most` entries. Returns true where it
// has.
bool RequireCount(absl::string_view field, int count, int most, absl::string_view what,
                  absl::string_view advice, FieldViolations& violations) {
  if (count >= 1 && count <= most) return true;
  violations.Add(field, count == 0 ? absl::StrCat("is empty: give 1 to ", most, " ", what)
                                   : absl::StrCat("are ", count, ": give at most ", most, advice));
  return false;
}

void DevicesFrom(const v1::HostDevices& wire, absl::string_view path, const DeviceSources& sources,
                 absl::optional<double> maximum_age_seconds, FieldViolations& violations,
                 DeviceSelection& out) {
  const std::string list = FieldPath(path, "host_devices.devices");
  if (!RequireCount(list, wire.devices_size(), kMaxNamedDevices,
                    "devices of this host (sextant devices)", "", violations)) {
    return;
  }
  CalibrationQuery query = {.now = sources.now};
  if (maximum_age_seconds.has_value()) query.maximum_age = absl::Seconds(*maximum_age_seconds);
  for (int i = 0; i < wire.devices_size(); ++i) {
    const std::string& name = wire.devices(i);
    const bool named = RequireDeviceName(name, absl::StrCat(list, "[", i, "]"), violations);
    out.devices.push_back(named ? NamedDeviceFrom(name, sources.host, query) : NamedDevice());
  }
}

void CalibrationsFrom(const v1::SuppliedCalibrations& wire, absl::string_view path,
                      const DeviceSources& sources, FieldViolations& violations,
                      DeviceSelection& out) {
  const std::string list = FieldPath(path, "calibrations.calibrations");
  if (!RequireCount(list, wire.calibrations_size(), kMaxCalibrations,
                    "calibrations (sextant calibration --save)",
                    ". The slowest device decides, so the calibration of the slowest of each host, "
                    "or of all, says as much",
                    violations)) {
    return;
  }
  for (int i = 0; i < wire.calibrations_size(); ++i) {
    const std::string field = absl::StrCat(list, "[", i, "]");
    const v1::Calibration& calibration = wire.calibrations(i);
    out.calibrations.push_back(sources.supplied.ModelOf(calibration, field, violations));
    CheckNotAhead(calibration, field, sources.now, violations);
  }
}

}  // namespace

bool RequireDeviceName(absl::string_view name, absl::string_view field,
                       FieldViolations& violations) {
  if (!name.empty()) return true;
  violations.Add(field,
                 "is empty: write a device's UUID (sextant devices), or host for the host's "
                 "processor");
  return false;
}

DeviceSelection DeviceSelectionFrom(const v1::DeviceSelector& wire, absl::string_view path,
                                    const DeviceSources& sources,
                                    absl::optional<double> maximum_age_seconds,
                                    FieldViolations& violations) {
  DeviceSelection out;
  switch (wire.selector_case()) {
    case v1::DeviceSelector::kAccelerator:
      out.accelerator = wire.accelerator();
      if (out.accelerator.empty()) {
        violations.Add(FieldPath(path, "accelerator"),
                       "is empty: write a name, e.g. h100-sxm (docs/accelerators.md lists them)");
      }
      break;
    case v1::DeviceSelector::kHostDevices:
      DevicesFrom(wire.host_devices(), path, sources, maximum_age_seconds, violations, out);
      break;
    case v1::DeviceSelector::kCalibrations:
      CalibrationsFrom(wire.calibrations(), path, sources, violations, out);
      break;
    case v1::DeviceSelector::SELECTOR_NOT_SET:
      RequireSelection(out, path, violations);
      break;
  }
  return out;
}

}  // namespace sextant::server
