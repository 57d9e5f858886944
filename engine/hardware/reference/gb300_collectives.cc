// Measured collectives of gb300: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.29.2, NCCL 2.29.2 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace gb300_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {9.38, 9.6, 11.02, 11.43, 13.94, 18.54,
      37.12, 41.33, 53.38, 81.1, 266.7, 985.4}},
    {CollectiveOp::kAllReduce, 4,
     {15.09, 15.33, 16.49, 17.15, 19.09, 23.47,
      34.93, 84.85, 98.34, 121.5, 338.8, 1268}},
    {CollectiveOp::kAllGather, 2,
     {8.21, 8.3, 9.85, 10.14, 12.4, 15.37,
      22.8, 29.65, 36.86, 52.77, 166, 599}},
    {CollectiveOp::kAllGather, 4,
     {11.21, 11.3, 12.53, 13.05, 14.64, 18.07,
      24.98, 51.36, 57.88, 70.71, 191.8, 704.3}},
    {CollectiveOp::kReduceScatter, 2,
     {8.31, 8.4, 9.32, 9.86, 11.96, 14.78,
      21.39, 27.31, 36.53, 53.54, 182.8, 644.2}},
    {CollectiveOp::kReduceScatter, 4,
     {11.22, 11.58, 15.31, 12.85, 14.09, 17,
      23.72, 47.69, 54.52, 70.13, 197.5, 724.7}},
    {CollectiveOp::kAllToAll, 2,
     {9.93, 9.9, 12.11, 16.18, 17.15, 17.59,
      20.6, 26.7, 46.3, 60.45, 215.2, 767.6}},
    {CollectiveOp::kAllToAll, 4,
     {10.41, 10.47, 11.73, 16.8, 17.13, 18.16,
      22.56, 31.05, 46.09, 72.63, 217.4, 786.5}},
};
// clang-format on

}  // namespace gb300_collectives

absl::Span<const ReferenceCollectiveRow> Gb300Collectives() { return gb300_collectives::kRows; }

}  // namespace sextant
