// Measured collectives in order, and checked.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_POINTS_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_POINTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/hardware/links/collective_curve.h"
#include "engine/hardware/links/collective_model.h"

namespace sextant {

// 1 TB in one message and 1e6 ranks are more than anyone runs; below 100 ns no call returns, and
// an hour is no measurement of a link.
inline constexpr int64_t kMostCollectiveRanks = 1'000'000;
inline constexpr int64_t kMostCollectiveBytes = 1'000'000'000'000;
inline constexpr double kLeastCollectiveSeconds = 1e-7;
inline constexpr double kMostCollectiveSeconds = 3600;

// The times of one operation among so many ranks, sizes ascending.
struct CollectiveSeries {
  CollectiveOp op;
  int64_t ranks;
  std::vector<TimeOfSize> times;
};

// By operation, then by ranks, both ascending.
using SortedCollectives = std::vector<CollectiveSeries>;

// `points` by series. Errors: as CollectiveModel::Make().
absl::StatusOr<SortedCollectives> SortCollectives(absl::Span<const MeasuredCollective> points);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_POINTS_H_
