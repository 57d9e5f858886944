// A planner's queries to a fleet's Prometheus, the hosts, devices and products in its answers, and
// the slowest of several.
#ifndef SEXTANT_SERVER_FLEET_FLEET_TABLE_H_
#define SEXTANT_SERVER_FLEET_FLEET_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/known_rates.h"
#include "server/fleet/prometheus_api.h"

namespace sextant::server {

// The recorded rates of all hosts and all products (deploy/monitoring/recording_rules.yml).
std::string FleetQuery();

// The series that a plan is made of, of the devices with these UUIDs, which are matched whole,
// whatever characters they have.
std::string DevicesQuery(absl::Span<const std::string> uuids);

// The rates of a device that a plan's times are scaled by.
enum class RateFigure : size_t {
  kBf16Burst,
  kBf16Sustained,
  kFp8Sustained,
  kMemoryCopy,
  kCopyToDevice,
  kCopyFromDevice,
};
inline constexpr size_t kRateFigures = 6;

// A rate of the slowest device; 0: none is known.
struct SlowestRate {
  double value = 0;
  std::string uuid = {};
};

// The GPUs of one product on a host, or one GPU.
struct FleetMember {
  const Accelerator* accelerator = nullptr;  // null: not in the catalogue
  std::string product_name = {};
  std::string hostname = {};
  std::array<SlowestRate, kRateFigures> rates = {};
  Bytes memory = Bytes(0);  // the least; 0: unknown
  Bytes taken = Bytes(0);   // the most that processes hold; 0 also if unknown
  int64_t device_count = 0;
  int64_t oldest_unix_seconds = 0;
  bool stable = true;
  std::vector<std::string> unhealthy = {};  // UUIDs
};

// By the name of a host, or the UUID of a GPU: of each product of its GPUs.
using FleetMembers = std::unordered_map<std::string, std::vector<FleetMember>>;

// The median device of a product.
struct UsualDevice {
  KnownRates rates;
  int64_t device_count = 0;
};

// The answer to FleetQuery(). Values that make no sense are left out.
struct FleetTable {
  FleetMembers hosts = {};
  std::map<std::string, UsualDevice, std::less<>> products = {};  // by the name that devices report

  // The median of `accelerator`, by the name that most devices report; null where no rate in bf16
  // is recorded of it.
  const UsualDevice* Usual(const Accelerator& accelerator) const;
};
FleetTable TableFrom(absl::Span<const PrometheusSample> samples);

// The answer to DevicesQuery(), by UUID. Of several series of one figure, as a device has for
// minutes after its host's address changed, the lowest counts.
FleetMembers DevicesFrom(absl::Span<const PrometheusSample> samples);

// The device that `members`, not empty and of one product, are as fast as together: at each rate as
// fast as the slowest, since all others wait for it. It has the name of the device that is the
// slowest in bf16; `next` is the same without the member of that device.
struct SlowestDevices {
  KnownRates slowest;
  absl::optional<KnownRates> next = {};  // absent: there is no other member with a rate in bf16
};
SlowestDevices SlowestOf(absl::Span<const FleetMember* const> members);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_FLEET_FLEET_TABLE_H_
