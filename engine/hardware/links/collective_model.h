// Times of collectives among the devices of one node, from measurements.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/collective.h"

namespace sextant {

// Limits: no run has messages above 1 TB or more than 1e6 ranks; no call returns within 100 ns,
// and a time above an hour is not a link measurement.
inline constexpr int64_t kMaxCollectiveRanks = 1'000'000;
inline constexpr int64_t kMaxCollectiveBytes = 1'000'000'000'000;
inline constexpr double kMinCollectiveSeconds = 1e-7;
inline constexpr double kMaxCollectiveSeconds = 3600;

struct TimeOfSize {
  double bytes = 0;
  double seconds = 0;
};

// Time by size. Between two measured sizes a collective takes a + b S, with a latency and a rate
// (Thakur et al. 2005, section 2), so the curve is linear between them. On the published tables
// this predicted left-out sizes better than lines in log space, splines or interpolated bus
// bandwidth (docs/links.md, "Collectives inside a node"). Below the smallest size the latency is
// constant; above the largest the last rate is. Continuous and nondecreasing.
class CollectiveCurve {
 public:
  // At least two points with ascending, distinct sizes and positive times. A time above that of a
  // larger size is noise, which only adds time; it is replaced by the larger size's.
  explicit CollectiveCurve(std::vector<TimeOfSize> points);

  // `bytes` is at least 0.
  double SecondsAt(double bytes) const;

  // Time at the smallest size.
  double Latency() const { return points_.front().seconds; }

  absl::Span<const TimeOfSize> points() const { return points_; }

  bool Covers(double bytes) const {
    return points_.front().bytes <= bytes && bytes <= points_.back().bytes;
  }

  // SecondsAt() at point `index` without that point. Not for the end points.
  double SecondsWithout(size_t index) const;

 private:
  std::vector<TimeOfSize> points_;
};

// One measured call, all ranks in one node.
struct MeasuredCollective {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int64_t ranks = 0;
  int64_t bytes = 0;
  double seconds = 0;
};

// The times of one operation at one number of ranks, sizes ascending.
struct CollectiveSeries {
  CollectiveOp op;
  int64_t ranks;
  std::vector<TimeOfSize> times;
};

// By operation, then by ranks, both ascending.
using SortedCollectives = std::vector<CollectiveSeries>;

// Groups `points` into series. Errors: as CollectiveModel::Make().
absl::StatusOr<SortedCollectives> SortCollectives(absl::Span<const MeasuredCollective> points);

// Widening factors for both ends of the interval where points are lacking; docs/links.md,
// "Collectives inside a node", measures each. This one is for rank counts between measured ones: 4
// ranks from 2 and 8 were off by at most this in 80 % of published sizes.
inline constexpr double kBetweenRanksWidening = 1.2;
// Per doubling of the ranks beyond the measured maximum: 8 ranks from 4, likewise.
inline constexpr double kBeyondRanksWidening = 1.35;
// Sizes below and above the measured ones.
inline constexpr double kBeyondSizesWidening = 1.1;
// A broadcast from all_gather, or a send from all_to_all: assumed, because no table has both.
inline constexpr double kOtherOperationWidening = 1.3;

class CollectiveModel {
 public:
  // `points` in any order. Each operation present needs at least two sizes for each rank count.
  //
  // Errors: kInvalidArgument naming points[i] that are impossible, duplicate, or alone in their
  // series.
  static absl::StatusOr<CollectiveModel> Make(absl::Span<const MeasuredCollective> points);

  // The time of `call`; 0 for one rank. Between rank counts: the logarithm of time is linear in
  // that of ranks. Above: latency grows with log2 of ranks, the rest with WireShare(). An
  // unmeasured broadcast takes an all_gather scaled from (n - 1) / n of the bytes to all of them;
  // send and receive takes half of an all_to_all between two ranks, whose other half stays local.
  // Absent where nothing of the kind was measured, or the rank count is below the measured ones.
  absl::optional<KernelTime> TimeOf(const Collective& call) const;

  // True where TimeOf() has an answer for `op` among `ranks`, at any size.
  bool Knows(CollectiveOp op, int64_t ranks) const {
    return TimeOf({.op = op, .bytes = Bytes(1), .ranks = ranks}).has_value();
  }

 private:
  struct OfRanks {
    int64_t ranks;
    CollectiveCurve curve;
  };
  struct OfOperation {
    CollectiveOp op;
    std::vector<OfRanks> by_ranks;  // ascending
    PredictionError large;
    PredictionError small;
  };
  struct Estimate;

  const OfOperation* Find(CollectiveOp op) const;
  static Estimate AtRanks(const OfRanks& measured, double bytes);
  static Estimate BeyondRanks(const OfOperation& measured, double bytes, int64_t ranks);
  static absl::optional<Estimate> Estimated(const OfOperation& measured, double bytes,
                                            int64_t ranks);
  static absl::optional<KernelTime> TimeFrom(const OfOperation& measured, double bytes,
                                             int64_t ranks);

  std::vector<OfOperation> operations_;
};

inline constexpr int64_t kLargeCollectiveBytes = int64_t{1} << 20;

// The measurements of several devices of one node as one model. For each size that any of them
// measured, the slowest time, because all ranks wait for the slowest. A device that measured
// smaller and larger sizes takes part by interpolation (CollectiveCurve). A series with a single
// size is skipped. Absent where nothing is left.
//
// Errors: those of CollectiveModel::Make(), naming the points of `devices` as devices[i].points[j].
absl::StatusOr<absl::optional<CollectiveModel>> MeasuredCollectives(
    absl::Span<const std::vector<MeasuredCollective>> devices);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_MODEL_H_
