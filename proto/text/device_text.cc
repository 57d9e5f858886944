#include "proto/text/device_text.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/text/enum_names.h"
#include "proto/text/format.h"

namespace sextant::text {
namespace {

std::string BytesText(int64_t bytes) { return WithUnit(static_cast<double>(bytes), "byte"); }

absl::Time TimeOf(const google::protobuf::Timestamp& instant) {
  return absl::FromUnixSeconds(instant.seconds()) + absl::Nanoseconds(instant.nanos());
}

}  // namespace

std::string DeviceTitle(const v1::Device& device) {
  return device.product_name().empty() ? "a device without a name" : device.product_name();
}

void AddDeviceRows(const v1::Device& device, Table* table) {
  const auto add = [table](const std::string& name, const std::string& value) {
    if (!value.empty()) table->AddRow({name, value});
  };
  add("kind", EnumName(device.kind()));
  add("uuid", device.uuid());
  add("host", device.hostname());
  add("PCI bus", device.pci_bus_id());
  if (device.has_compute_unit_count()) {
    const bool gpu = device.kind() == v1::DEVICE_KIND_GPU;
    add(gpu ? "multiprocessors" : "cores", Grouped(device.compute_unit_count()));
  }
  if (device.memory_bytes() != 0) add("memory", BytesText(device.memory_bytes()));
  if (device.has_cache_bytes()) add("last cache", BytesText(device.cache_bytes()));
  if (device.has_power_limit_watts()) {
    add("power limit", absl::StrCat(Grouped(std::llround(device.power_limit_watts())), " W"));
  }
  add("instructions", absl::StrJoin(device.instruction_sets(), ", "));
  add("catalogue", device.accelerator());
}

std::string DeviceText(const v1::Device& device) {
  Table table(2, {Align::kLeft, Align::kLeft});
  AddDeviceRows(device, &table);
  if (device.has_compute_capability()) table.AddRow({"capability", device.compute_capability()});
  if (device.has_driver_version()) table.AddRow({"driver", device.driver_version()});
  return absl::StrCat(Wrap("", DeviceTitle(device), 2), table.Text());
}

std::string InstantText(const google::protobuf::Timestamp& instant) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", TimeOf(instant), absl::UTCTimeZone());
}

double AgeSeconds(const google::protobuf::Timestamp& instant, absl::Time now) {
  return absl::ToDoubleSeconds(now - TimeOf(instant));
}

std::string AgeText(double age_seconds) {
  if (!std::isfinite(age_seconds)) return "age not known";
  // Clocks of two hosts agree to a second or so.
  if (age_seconds < -1) return "in the future: compare the clocks";
  if (age_seconds < 60) return absl::StrFormat("%.0f s ago", std::abs(age_seconds));
  if (age_seconds < 3600) return absl::StrFormat("%.1f minutes ago", age_seconds / 60);
  if (age_seconds < 2 * 86400) return absl::StrFormat("%.1f hours ago", age_seconds / 3600);
  return absl::StrCat(Grouped(age_seconds / 86400, 1), " days ago");
}

}  // namespace sextant::text
