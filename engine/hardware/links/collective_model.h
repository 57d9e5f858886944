// Times of collectives among the devices of one node, from measured ones.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/collective.h"
#include "engine/hardware/links/collective_curve.h"

namespace sextant {

// One measured call, all ranks in one node.
struct MeasuredCollective {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int64_t ranks = 0;
  int64_t bytes = 0;
  double seconds = 0;
};

// The same widening on both sides, for what the points lack; docs/links.md measures each.
// Between the numbers of ranks that were measured: 4 ranks from 2 and 8 were off by at most this
// in 80 % of published sizes.
inline constexpr double kBetweenRanksWidening = 1.2;
// For each doubling of the ranks beyond the most that were measured: 8 ranks from 4, likewise.
inline constexpr double kBeyondRanksWidening = 1.35;
// Below and above the measured sizes.
inline constexpr double kBeyondSizesWidening = 1.1;
// A broadcast from all_gather, a send from all_to_all: stated, nobody published both.
inline constexpr double kOtherOperationWidening = 1.3;

class CollectiveModel {
 public:
  // `points` in any order. Of every operation that is there: at least two sizes for each number
  // of ranks.
  //
  // Errors: kInvalidArgument naming points[i] that no device can have measured, or that stand
  // twice or alone.
  static absl::StatusOr<CollectiveModel> Make(absl::Span<const MeasuredCollective> points);

  // The time of `call`, 0 for one rank. Ranks in between: the logarithm of time on a line over
  // that of ranks. Above: latency by log2 of ranks, the rest by WireShare(). A broadcast, where it
  // was not measured, takes an all_gather of the same bytes at all of them rather than (n - 1) / n;
  // send and receive half of an all_to_all between two ranks, whose other half stays at home.
  // Absent where nothing of the kind was measured, or a rank count below the measured.
  absl::optional<KernelTime> TimeOf(const Collective& call) const;

  // Whether TimeOf() has an answer for `op` among `ranks`, whatever the bytes.
  bool Knows(CollectiveOp op, int64_t ranks) const {
    return TimeOf({.op = op, .bytes = Bytes(1), .ranks = ranks}).has_value();
  }

  // How far points were from the line between their neighbours, sizes from 1 MiB up and below.
  // Null: `op` was not measured.
  const PredictionError* LargeError(CollectiveOp op) const;
  const PredictionError* SmallError(CollectiveOp op) const;

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

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_MODEL_H_
