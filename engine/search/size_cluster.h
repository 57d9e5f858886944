// The fewest devices on which a run fits, and meets its deadline and budget.
#ifndef SEXTANT_ENGINE_SEARCH_SIZE_CLUSTER_H_
#define SEXTANT_ENGINE_SEARCH_SIZE_CLUSTER_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "engine/search/sized_run.h"

namespace sextant {

// The most devices that are tried, where the request does not say.
inline constexpr int64_t kDefaultMaxDevices = 65'536;

struct ClusterSize {
  SizeBasis basis = SizeBasis::kStateAlone;
  bool met = false;
  int64_t device_count = 0;                // the fewest that meet the limits, else the nearest miss
  int64_t server_devices = 1;              // 1: no server of the product is known
  int64_t least = 1;                       // fewer can't be enough under any layout
  bool network_known = true;               // false: numbers above one server were not tried
  SizeLimit limit = SizeLimit::kNone;      // what fewer miss, of numbers with a layout; else these
  std::map<int64_t, SizedRun> tried = {};  // by number of devices

  // The run on device_count devices.
  const SizedRun& sized() const { return tried.at(device_count); }
};

// Sizes the cluster of `run`, whose cluster.device_count is not read. Numbers of devices are powers
// of two within a server, then whole servers, up to `max_devices`. `device_count` is the fewest in
// this sense (docs/sizing.md):
//   - no number below `least` can be enough, and
//   - of the numbers from `least` on, those that were tried below device_count are not: among them
//     the next smaller one, the largest power of two servers below it, and the three below the
//     next smaller one.
// A number in between may still be enough where the time does not fall with the number of devices.
// At most 80 numbers are tried, each with at most kBoundedEvaluations layouts.
//
// Pure. Errors: those of PlanRun() and SearchLayouts(); kInvalidArgument where max_devices is out
// of range.
absl::StatusOr<ClusterSize> FindFewestDevices(const RunSpec& run, int64_t max_devices,
                                              FieldViolations found, CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_SIZE_CLUSTER_H_
