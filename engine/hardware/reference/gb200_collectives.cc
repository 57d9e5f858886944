// Measured collectives of gb200: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.29.2, NCCL 2.29.2 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace gb200_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {10.9, 11.05, 11.71, 11.8, 14.49, 19.34,
      38.28, 42.37, 53.88, 83.01, 269.9, 1013}},
    {CollectiveOp::kAllReduce, 4,
     {15.63, 16.12, 17.31, 17.52, 19.66, 27.5,
      36.49, 87.93, 100.2, 122.8, 342.5, 1282}},
    {CollectiveOp::kAllGather, 2,
     {9.36, 9.75, 10.41, 10.5, 12.94, 16.02,
      23.89, 30.62, 38.22, 54.02, 170.1, 614.5}},
    {CollectiveOp::kAllGather, 4,
     {11.65, 12.01, 13.16, 13.52, 15.12, 18.59,
      25.92, 52.57, 59.15, 71.86, 195.3, 714.5}},
    {CollectiveOp::kReduceScatter, 2,
     {9.39, 9.64, 10.17, 10.33, 12.5, 15.3,
      22.52, 28.42, 37.73, 54.3, 186.3, 656.9}},
    {CollectiveOp::kReduceScatter, 4,
     {11.81, 11.94, 12.71, 13.32, 14.62, 17.58,
      25.03, 49.22, 55.55, 71.5, 199.9, 733.3}},
    {CollectiveOp::kAllToAll, 2,
     {9.82, 9.9, 12.26, 17.3, 18.17, 18.85,
      21.58, 28.86, 49.97, 63.06, 225, 807.6}},
    {CollectiveOp::kAllToAll, 4,
     {10.68, 10.82, 12, 17.4, 17.85, 18.77,
      23.09, 31.64, 46.66, 74.23, 227.6, 825.4}},
};
// clang-format on

}  // namespace gb200_collectives

absl::Span<const ReferenceCollectiveRow> Gb200Collectives() { return gb200_collectives::kRows; }

}  // namespace sextant
