// Predicted times of collectives compared with published ones.
#ifndef SEXTANT_TESTS_VALIDATION_COLLECTIVES_ACCURACY_H_
#define SEXTANT_TESTS_VALIDATION_COLLECTIVES_ACCURACY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/hardware/links/collective.h"
#include "tests/validation/collective_samples.h"
#include "tests/validation/error_summary.h"

namespace sextant {

// The data compared, sizes from 1 MiB up unless said otherwise. Points of a model are never scored
// against themselves.
enum class CollectiveComparison {
  kSizesNotKept,   // the reference tables: sizes of their own measurement that they left out
  kSmallNotKept,   // the same below 1 MiB
  kOtherVersions,  // the reference tables: all sizes, measured with another version of NCCL
  kHalfOfSizes,    // a model of every other size of a table: the sizes between
};

// "sizes not kept".
std::string CollectiveComparisonName(CollectiveComparison comparison);

// Errors are predicted / measured - 1.
struct CollectiveScore {
  CollectiveComparison comparison = CollectiveComparison::kSizesNotKept;
  std::string gpu;  // empty: all
  CollectiveOp op = CollectiveOp::kAllReduce;
  int64_t ranks = 0;    // 0: all
  std::string version;  // of NCCL, by the table's name
  ErrorSummary ours;
  ErrorSummary link_rate;  // NCCL's latency, and the bytes at the datasheet's link rate
  double in_interval = 0;  // share of calls within [low, high], which aims at 80 %
};

// For each comparison, GPU, operation, version: one of all ranks, then one of each.
std::vector<CollectiveScore> ScoreCollectives(const CollectiveTables& published);

// The same comparison over all operations, ranks and versions: of each GPU, then of all (empty).
std::vector<CollectiveScore> ScoreCollectivesByGpu(const CollectiveTables& published);

// How far apart measurements of the same call are, from 1 MiB up: a repeat from the median of its
// table, and the slowest version's median from the fastest's.
struct CollectiveNoise {
  std::string gpu;
  CollectiveOp op = CollectiveOp::kAllReduce;
  ErrorSummary repeats;
  ErrorSummary versions;
};

std::vector<CollectiveNoise> NoiseOf(const CollectiveTables& published);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_COLLECTIVES_ACCURACY_H_
