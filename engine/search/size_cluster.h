// The best number of devices on which a run fits, and meets its deadline and budget: the fewest, or
// those that take the least time, money or energy.
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

// The quantity to minimise among the numbers of devices that meet everything.
enum class SizeObjective { kDevices, kTime, kCost, kEnergy };

struct ClusterQuestion {
  int64_t max_devices = kDefaultMaxDevices;
  SizeObjective objective = SizeObjective::kDevices;
};

struct ClusterSize {
  SizeBasis basis = SizeBasis::kStateAlone;
  bool met = false;
  int64_t device_count = 0;            // the best that meets the limits, else the nearest miss
  double figure = 0;                   // where met: of the objective
  int64_t server_devices = 1;          // 1: no server of the product is known
  int64_t least = 1;                   // fewer can't be enough under any layout
  bool network_known = true;           // false: numbers above one server were not tried
  SizeLimit limit = SizeLimit::kNone;  // what fewer miss, of numbers with a layout; else these
  // By number of devices; of these only device_count has its plan.
  std::map<int64_t, SizedRun> tried = {};

  // The run on device_count devices.
  const SizedRun& sized() const { return tried.at(device_count); }
};

// Sizes the cluster of `run`, whose cluster.device_count is not read. Numbers of devices are powers
// of two within a server, then whole servers, up to max_devices. The answer is the best of those
// that were tried (docs/sizing.md, "The fewest devices"):
//   - no number below `least` can be enough;
//   - the next number below the fewest that are enough was tried, the largest power of two servers
//     below them, and the three below the next smaller one;
//   - for objectives other than the fewest devices also all numbers of up to kFewServers servers;
//     beyond, powers of two, numbers half-way between them, divisors of the batch, max_devices, and
//     those next to the best of these.
// A number in between may still be better. At most 80 numbers are tried, or 130 for these
// objectives, each with at most kBoundedEvaluations layouts.
//
// Pure. Errors: those of PlanRun() and SearchLayouts(); kInvalidArgument where max_devices is out
// of range, and where the run lacks what its objective is counted from.
absl::StatusOr<ClusterSize> FindClusterSize(const RunSpec& run, ClusterQuestion question,
                                            FieldViolations found, CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_SIZE_CLUSTER_H_
