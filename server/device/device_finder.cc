#include "server/device/device_finder.h"

#include <atomic>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/hardware/catalogue.h"
#include "server/convert/calibration.h"
#include "server/fleet/fleet_reader.h"
#include "server/store/device_names.h"

namespace sextant::server {
namespace {

constexpr int kMaxFleetHosts = 4096;
constexpr int kMaxFleetDevices = 8192;
constexpr size_t kMaxFleetName = 253;  // the longest name of a host

NamedDevice NamedDeviceFrom(const std::string& name, const CalibrationSnapshot& host,
                            const CalibrationQuery& query) {
  const v1::Device* device = host.FindDevice(name);
  if (device == nullptr) {
    return {.found = UnknownDevice(name, host.devices)};
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

// Takes the product that a request calls `name` by the catalogue's name for it, so that nothing
// beyond this door meets an alias. FindSelected() reports an unknown name.
void NameProduct(const std::string& name, DeviceSelection& out) {
  const absl::StatusOr<const Accelerator*> found = FindAccelerator(name);
  out.given_name = name;
  out.accelerator = found.ok() ? (*found)->name : out.given_name;
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

void CheckNames(const google::protobuf::RepeatedPtrField<std::string>& names, int most,
                absl::string_view list, absl::string_view what, FieldViolations& violations) {
  if (names.size() > most) {
    violations.Add(list, absl::StrCat("are ", names.size(), ": give at most ", most, " ", what));
    return;
  }
  absl::flat_hash_set<absl::string_view> seen;
  for (int i = 0; i < names.size(); ++i) {
    const std::string field = absl::StrCat(list, "[", i, "]");
    if (names[i].empty() || names[i].size() > kMaxFleetName) {
      violations.Add(field, absl::StrCat("must have 1 to ", kMaxFleetName, " bytes: write ", what,
                                         " as their series have them"));
    } else if (!seen.insert(names[i]).second) {
      violations.Add(field, absl::StrCat("is ", names[i], " again: name it once"));
    }
  }
}

// Appends violations of `wire`, the field `path`, that a read of the fleet's metrics can't correct.
void CheckFleet(const v1::FleetDevices& wire, absl::string_view path, FieldViolations& violations) {
  if (wire.accelerator().empty()) {
    violations.Add(FieldPath(path, "accelerator"),
                   "is required: write the product, e.g. h100-sxm (docs/accelerators.md lists "
                   "them)");
  }
  if (!wire.hostnames().empty() && !wire.gpu_uuids().empty()) {
    violations.Add(FieldPath(path, "gpu_uuids"),
                   "can't be given with hostnames: name hosts or devices");
  }
  CheckNames(wire.hostnames(), kMaxFleetHosts, FieldPath(path, "hostnames"), "hosts", violations);
  CheckNames(wire.gpu_uuids(), kMaxFleetDevices, FieldPath(path, "gpu_uuids"), "UUIDs", violations);
}

void FleetFrom(const v1::FleetDevices& wire, absl::string_view path, const DeviceSources& sources,
               FieldViolations& violations, DeviceSelection& out) {
  const std::string field = FieldPath(path, "fleet");
  NameProduct(wire.accelerator(), out);
  if (sources.fleet == nullptr) {
    violations.Add(field,
                   absl::StrCat("can't be answered, since this server reads no fleet's metrics: "
                                "start it with --fleet_prometheus_url, or name ",
                                FieldPath(path, "accelerator"), " or calibrations"));
    return;
  }
  FieldViolations found;
  CheckFleet(wire, field, found);
  violations.AddAll(found.ToStatus());
  if (!found.empty()) return;
  // A product that nobody knows was not read: FindSelected() reports it.
  const bool is_known = FindAccelerator(wire.accelerator()).ok();
  out.fleet = is_known ? sources.fleet->Latest(wire) : FleetRates();
  if (out.fleet->models.empty() && !out.fleet->other_products.empty()) {
    violations.Add(
        FieldPath(field, "accelerator"),
        absl::StrCat("is ", wire.accelerator(), ", but by the fleet's metrics these are ",
                     absl::StrJoin(out.fleet->other_products, ", "),
                     ": name the product that they are"));
  }
}

}  // namespace

void AfterFleet(FleetReader* reader, const std::vector<const v1::DeviceSelector*>& devices,
                std::chrono::system_clock::time_point deadline, std::function<void()> then) {
  std::vector<const v1::FleetDevices*> targets;
  for (const v1::DeviceSelector* const device : devices) {
    FieldViolations found;
    if (device->has_fleet()) CheckFleet(device->fleet(), "", found);
    if (device->has_fleet() && found.empty() &&
        FindAccelerator(device->fleet().accelerator()).ok()) {
      targets.push_back(&device->fleet());
    }
  }
  if (reader == nullptr || targets.empty()) return then();
  const absl::Time until = FleetWaitEnd(deadline, absl::Now());
  const auto left = std::make_shared<std::atomic<size_t>>(targets.size());
  for (const v1::FleetDevices* const target : targets) {
    reader->WhenRead(*target, until, [left, then] {
      if (left->fetch_sub(1) == 1) then();
    });
  }
}

DeviceSelection DeviceFinder::Resolve(const v1::DeviceSelector& wire, absl::string_view path,
                                      absl::optional<double> maximum_age_seconds,
                                      FieldViolations& violations) const {
  DeviceSelection out;
  switch (wire.selector_case()) {
    case v1::DeviceSelector::kAccelerator:
      NameProduct(wire.accelerator(), out);
      if (out.accelerator.empty()) {
        violations.Add(FieldPath(path, "accelerator"),
                       "is empty: write a name, e.g. h100-sxm (docs/accelerators.md lists them)");
      }
      break;
    case v1::DeviceSelector::kHostDevices:
      DevicesFrom(wire.host_devices(), path, sources_, maximum_age_seconds, violations, out);
      break;
    case v1::DeviceSelector::kCalibrations:
      CalibrationsFrom(wire.calibrations(), path, sources_, violations, out);
      break;
    case v1::DeviceSelector::kFleet:
      FleetFrom(wire.fleet(), path, sources_, violations, out);
      break;
    case v1::DeviceSelector::SELECTOR_NOT_SET:
      RequireSelection(out, path, violations);
      break;
  }
  return out;
}

std::vector<const DeviceModel*> DeviceFinder::TrustedModels() const {
  return sources_.host.TrustedModels({.now = sources_.now});
}

}  // namespace sextant::server
