// The rates of a fleet's devices, as its Prometheus has them.
#ifndef SEXTANT_SERVER_FLEET_FLEET_READER_H_
#define SEXTANT_SERVER_FLEET_FLEET_READER_H_

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/hardware/device_model.h"
#include "engine/hardware/device_selection.h"
#include "server/base/periodic.h"
#include "server/call/worker_pool.h"
#include "server/fleet/prometheus_api.h"
#include "sextant/v1/device_selector.pb.h"

namespace sextant::server {

// The longest that a call waits for the fleet's metrics.
inline constexpr absl::Duration kFleetPatience = absl::Seconds(1);

// The targets, sets of devices that requests named, of which rates are kept.
inline constexpr size_t kMaxFleetTargets = 256;

struct FleetReaderOptions {
  // Asks Prometheus within `limit`; called on threads of the reader's own.
  std::function<absl::StatusOr<std::vector<PrometheusSample>>(const std::string& promql,
                                                              std::chrono::milliseconds limit)>
      query;
  // Measured devices, whose kernels' times are scaled to those of the fleet's devices of the same
  // product; called on the same threads.
  std::function<std::vector<std::shared_ptr<const DeviceModel>>()> curves;
  absl::Duration interval = absl::Seconds(15);  // between two reads of one target
  std::function<absl::Time()> now = absl::Now;
};

// Thread-safe. Whatever the load, a target is read once an interval, by one thread for all calls
// that name it; calls in between get what was read. Where a read fails, calls get what was read
// before, with its age; where Prometheus can't be reached, nothing is read of any target for
// an interval. A target that no call names is not read, and the one not named for the longest is
// forgotten for a new one.
//
// Its metrics: reads and their failures, when the last one succeeded, and of each product whose
// usual rates were read, how many devices they are of and how old the oldest is.
class FleetReader final : public prometheus::Collectable {
 public:
  FleetReader(FleetReaderOptions options, prometheus::Registry& registry);
  ~FleetReader() override;

  // Calls `then` once: at once where Latest() has nothing to wait for, else on another thread after
  // the target was read, or failed to be, or kFleetPatience has passed.
  void WhenRead(const v1::FleetDevices& target, std::function<void()> then);

  // The known rates of the target's devices; never waits for a read.
  FleetRates Latest(const v1::FleetDevices& target);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Then = std::function<void()>;

  // The result of one read: FleetRates without the fields that depend on the time of the call.
  struct Reading {
    FleetRates rates;
    absl::Time time;
  };

  struct Waiter {
    absl::Time until;
    Then then;
  };

  struct Target {
    std::shared_ptr<const Reading> reading;   // null: never read
    absl::Time tried = absl::InfinitePast();  // when the last read ended
    absl::Status failure;                     // of the last read
    bool is_reading = false;
    std::vector<Waiter> waiters;
    std::list<std::string>::iterator used;  // in order_
  };

  Target& Find(const std::string& key);
  bool NeedsReading(const Target& target, absl::Time now) const;
  absl::StatusOr<FleetRates> Ask(const v1::FleetDevices& target) const;
  absl::StatusOr<FleetRates> AskOfNamed(const v1::FleetDevices& target,
                                        const Accelerator& accelerator) const;
  absl::StatusOr<FleetRates> AskOfProduct(const Accelerator& accelerator) const;
  void Count(const absl::Status& end);
  // Keeps what a read found, and lets the calls go that wait for it.
  void Keep(const std::string& key, absl::StatusOr<FleetRates> found);
  // Lets go of calls that have waited for long enough.
  void EndWaits();

  const FleetReaderOptions options_;
  prometheus::Counter& reads_;
  prometheus::Family<prometheus::Counter>& failures_;
  mutable std::mutex mutex_;                         // never held while a read or a call goes on
  std::unordered_map<std::string, Target> targets_;  // by the bytes of the request's message
  std::list<std::string> order_;                     // keys, the last used first
  absl::Time last_read_ = absl::InfinitePast();      // that succeeded
  absl::Time unreachable_until_ = absl::InfinitePast();
  absl::Status unreachable_;
  WorkerPool readers_;
  Periodic clock_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_FLEET_FLEET_READER_H_
