// A planner's queries to a fleet's Prometheus, and the devices in its answers.
#ifndef SEXTANT_SERVER_FLEET_FLEET_QUERY_H_
#define SEXTANT_SERVER_FLEET_FLEET_QUERY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/known_rates.h"
#include "server/fleet/prometheus_api.h"
#include "sextant/v1/device_selector.pb.h"

namespace sextant::server {

// The slowest devices of those that `named` names, by each rate, and what is true of all: two
// devices for each rate of long runs, and of bursts where nothing else is known, two for memory and
// one for each direction of copies; and the one of whose memory processes hold the most. Host names
// and UUIDs are matched whole, whatever characters they have.
std::string SlowestQuery(const v1::FleetDevices& named);

// All series of the devices with these UUIDs.
std::string DevicesQuery(absl::Span<const std::string> uuids);

// The recorded rates of all products (deploy/monitoring/recording_rules.yml).
std::string ProductsQuery();

// The answer to SlowestQuery().
struct SlowestDevices {
  std::vector<std::string> uuids;  // of `accelerator`, each once, in alphabetical order
  int64_t device_count = 0;        // of `accelerator`, with measurements
  int64_t host_count = 0;
  int64_t oldest_unix_seconds = 0;
  std::vector<std::string> unhealthy;  // UUIDs, likewise
  int64_t taken_bytes = 0;  // of memory that processes hold now, where most do; 0 also if unknown
  std::vector<std::string> other_products;  // of devices with measurements, as they name themselves
};
SlowestDevices SlowestFrom(absl::Span<const PrometheusSample> samples,
                           const Accelerator& accelerator);

// The answer to DevicesQuery(): devices of `accelerator` with a rate in bf16, in the order of their
// UUIDs. Of several series of one figure, as a device has for minutes after its host's address
// changed, the lowest counts.
std::vector<KnownRates> DevicesFrom(absl::Span<const PrometheusSample> samples,
                                    const Accelerator& accelerator);

// Those of `devices` that may be the slowest of a plan, or the next slowest: two others that are no
// faster at anything rule a device out.
std::vector<KnownRates> MayBeSlowest(std::vector<KnownRates> devices);

// The answer to ProductsQuery(): the median device of `accelerator`; of several names of the
// product the one of most devices. No rate in bf16: nothing is recorded of it.
struct UsualDevice {
  KnownRates rates;
  int64_t device_count = 0;
};
UsualDevice UsualFrom(absl::Span<const PrometheusSample> samples, const Accelerator& accelerator);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_FLEET_FLEET_QUERY_H_
