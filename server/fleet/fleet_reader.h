// The rates of a fleet's devices, as its Prometheus has them.
#ifndef SEXTANT_SERVER_FLEET_FLEET_READER_H_
#define SEXTANT_SERVER_FLEET_FLEET_READER_H_

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
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
#include "server/fleet/fleet_table.h"
#include "server/fleet/prometheus_api.h"
#include "sextant/v1/device_selector.pb.h"

namespace sextant::server {

// The longest that a call waits for newer rates than those that were read before.
inline constexpr absl::Duration kFleetPatience = absl::Seconds(1);

// The longest read, and the longest that a call without a deadline waits for the first one.
inline constexpr absl::Duration kLongestFleetRead = absl::Seconds(10);

// When a call of this deadline, the largest value for none, goes on without the rates: a fifth of
// the time that is left is the plan's.
absl::Time FleetWaitEnd(std::chrono::system_clock::time_point deadline, absl::Time now);

// GPUs named by UUID whose rates are kept until they are read again.
inline constexpr size_t kMaxFleetDevicesKept = 65'536;

struct FleetReaderOptions {
  // Asks Prometheus within `limit`; called on threads of the reader's own.
  std::function<absl::StatusOr<std::vector<PrometheusSample>>(const std::string& promql,
                                                              std::chrono::milliseconds limit)>
      query;
  // Measured devices, whose kernels' times are scaled to those of the fleet's devices of the same
  // product; called on any thread.
  std::function<std::vector<std::shared_ptr<const DeviceModel>>()> curves;
  absl::Duration interval = absl::Seconds(15);  // between two reads
  std::function<absl::Time()> now = absl::Now;
};

// Thread-safe. Whatever the load, and however many sets of hosts calls name, the recorded rates of
// all hosts are read once an interval, while calls name any of them, by one thread for all calls;
// GPUs that calls name by UUID are read once an interval each. Where a read fails, calls get what
// was read before, with its age; where Prometheus can't be reached or does not answer, nothing is
// read for an interval.
//
// Its metrics: reads and their failures, when the last one succeeded, and of each product whose
// usual rates were read, how many devices they are of and how old the oldest is.
class FleetReader final : public prometheus::Collectable {
 public:
  FleetReader(FleetReaderOptions options, prometheus::Registry& registry);
  ~FleetReader() override;

  // Calls `then` once: at once where Latest() has nothing to wait for, else on another thread after
  // what the target needs was read, or failed to be; or at `until`, or after kFleetPatience where
  // something was read before.
  void WhenRead(const v1::FleetDevices& target, absl::Time until, std::function<void()> then);

  // The known rates of the target's devices; takes no lock.
  FleetRates Latest(const v1::FleetDevices& target) const;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Then = std::function<void()>;

  struct Device {
    std::vector<FleetMember> members;  // of each product that it is said to be; empty: no series
    absl::Time time;                   // when it was read
  };
  using Devices = std::unordered_map<std::string, std::shared_ptr<const Device>>;

  // All that was read, never changed.
  struct Snapshot {
    std::shared_ptr<const FleetTable> table = nullptr;  // null: never read
    absl::Time time = absl::InfinitePast();             // when it was
    std::shared_ptr<const Devices> devices = std::make_shared<const Devices>();
    absl::Status failure;  // of the last read
  };

  // The results of one read; absent parts were not asked for.
  struct Found {
    absl::optional<FleetTable> table;
    absl::optional<FleetMembers> devices;
  };

  struct Waiter {
    absl::Time until;
    Then then;
  };

  // The members of a target's devices, and since when they are known.
  struct Named {
    std::vector<const FleetMember*> members;  // of the target's product
    std::vector<std::string> other_products;
    absl::Time time = absl::InfinitePast();  // never: some were not read yet
  };

  Named NamedOf(const v1::FleetDevices& target, const Accelerator& accelerator,
                const Snapshot& read) const;
  FleetRates RatesOf(const Named& named, const Accelerator& accelerator,
                     const Snapshot& read) const;
  FleetRates UsualOf(const Accelerator& accelerator, const FleetTable& table) const;
  // Makes models of the rates, or writes why there are none.
  void AddModel(const KnownRates& rates, FleetRates& out) const;

  bool IsNew(absl::Time read, absl::Time now) const { return now - read < options_.interval; }
  bool TableNeedsReading(absl::Time now) const;
  std::vector<std::string> DevicesToRead(const v1::FleetDevices& target, absl::Time now) const;
  absl::StatusOr<Found> Ask(const v1::FleetDevices& target) const;
  void Count(const absl::Status& end);
  // Keeps what a read found, and lets the calls go that wait for it.
  void Keep(const std::string& key, absl::StatusOr<Found> found);
  // Lets go of calls that have waited for long enough.
  void EndWaits();

  const FleetReaderOptions options_;
  prometheus::Counter& reads_;
  prometheus::Family<prometheus::Counter>& failures_;
  std::atomic<std::shared_ptr<const Snapshot>> read_;
  mutable std::mutex mutex_;  // never held while a read or a call goes on
  // The calls that wait for a read under way: of the table, "", or of named devices.
  std::map<std::string, std::vector<Waiter>> reading_;
  absl::Time table_tried_ = absl::InfinitePast();  // when its last read ended
  absl::Time last_read_ = absl::InfinitePast();    // that succeeded
  absl::Time unreachable_until_ = absl::InfinitePast();
  WorkerPool readers_;
  Periodic clock_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_FLEET_FLEET_READER_H_
