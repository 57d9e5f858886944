#include "client/device_text.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/measured_time.h"

namespace sextant {
namespace {

std::string DeviceBytesText(int64_t bytes) { return WithUnit(static_cast<double>(bytes), "byte"); }

std::string MeasuredText(const v1::ListDevicesResponse::Entry& entry) {
  if (entry.distrusted()) {
    return "WRONG RESULTS in the last probe: have it looked at, and run sextant probe";
  }
  if (!entry.has_measured_time()) return "never; sextant probe measures it";
  const std::string when = InstantText(entry.measured_time());
  return entry.has_age_seconds() ? absl::StrCat(when, ", ", AgeText(entry.age_seconds())) : when;
}

std::string EntryText(const v1::ListDevicesResponse::Entry& entry) {
  Table table(2, {Align::kLeft, Align::kLeft});
  AddDeviceRows(entry.device(), &table);
  table.AddRow({"measured", MeasuredText(entry)});
  if (entry.has_fingerprint()) table.AddRow({"fingerprint", entry.fingerprint()});
  return absl::StrCat(Wrap("", DeviceTitle(entry.device()), 2), table.Text());
}

}  // namespace

std::string DeviceTitle(const v1::Device& device) {
  return device.product_name().empty() ? "a device without a name" : device.product_name();
}

void AddDeviceRows(const v1::Device& device, Table* table) {
  const auto add = [table](const std::string& name, const std::string& value) {
    if (!value.empty()) table->AddRow({name, value});
  };
  add("kind", EnumName(*v1::DeviceKind_descriptor(), device.kind()));
  add("uuid", device.uuid());
  add("host", device.hostname());
  add("PCI bus", device.pci_bus_id());
  if (device.has_compute_unit_count()) {
    const bool gpu = device.kind() == v1::DEVICE_KIND_GPU;
    add(gpu ? "multiprocessors" : "cores", Grouped(device.compute_unit_count()));
  }
  if (device.memory_bytes() != 0) add("memory", DeviceBytesText(device.memory_bytes()));
  if (device.has_cache_bytes()) add("last cache", DeviceBytesText(device.cache_bytes()));
  if (device.has_power_limit_watts()) {
    add("power limit", absl::StrCat(Grouped(std::llround(device.power_limit_watts())), " W"));
  }
  add("instructions", absl::StrJoin(device.instruction_sets(), ", "));
  add("catalogue", device.accelerator());
}

std::string DevicesText(const v1::ListDevicesResponse& response) {
  if (response.devices().empty()) {
    return "The server's host has no device that can be measured.\n";
  }
  return absl::StrJoin(response.devices(), "\n",
                       [](std::string* out, const v1::ListDevicesResponse::Entry& entry) {
                         out->append(EntryText(entry));
                       });
}

}  // namespace sextant
