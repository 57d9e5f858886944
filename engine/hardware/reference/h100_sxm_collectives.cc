// Measured collectives of h100-sxm: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.29.2, NCCL 2.29.2 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace h100_sxm_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {6.18, 6.46, 7.08, 8.81, 14.74, 27.86,
      33.1, 47.3, 82.17, 143.6, 466.2, 1686}},
    {CollectiveOp::kAllReduce, 4,
     {9.46, 9.77, 11.15, 11.76, 18.12, 27.66,
      42.16, 62.77, 99.01, 175.7, 613.2, 2300}},
    {CollectiveOp::kAllReduce, 8,
     {15.59, 16.02, 18.44, 19.15, 25.4, 38.18,
      50.49, 78.91, 121.9, 199.8, 578.7, 2111}},
    {CollectiveOp::kAllGather, 2,
     {5.31, 5.29, 6.34, 7.64, 11.29, 16.6,
      27.03, 36.27, 56, 92.9, 292.5, 1039}},
    {CollectiveOp::kAllGather, 4,
     {7.07, 7.37, 8.82, 9.22, 13.58, 19.13,
      36.98, 45.39, 66.21, 109.4, 350.3, 1267}},
    {CollectiveOp::kAllGather, 8,
     {10.14, 10.58, 13.05, 13.6, 17.13, 22.18,
      33.41, 44.86, 68.86, 125.5, 392.8, 1401}},
    {CollectiveOp::kReduceScatter, 2,
     {6.07, 5.32, 6.19, 7.35, 10.67, 15.39,
      23.79, 32.41, 53.18, 95.68, 311.5, 1078}},
    {CollectiveOp::kReduceScatter, 4,
     {7.17, 7.27, 8.02, 10.12, 11.57, 17.54,
      32.88, 38.51, 59.27, 106.3, 355.2, 1300}},
    {CollectiveOp::kReduceScatter, 8,
     {10.24, 10.58, 11.46, 12.17, 14.64, 17.9,
      29.88, 43.82, 69.67, 111.3, 382.2, 1399}},
    {CollectiveOp::kAllToAll, 2,
     {6.49, 6.55, 9.13, 14.15, 14.85, 15.52,
      21.16, 31.18, 53.05, 81.24, 259.6, 958.9}},
    {CollectiveOp::kAllToAll, 4,
     {6.48, 7.61, 8.83, 14.35, 15.56, 17.41,
      24.83, 39.3, 68.93, 110.9, 364.8, 1397}},
    {CollectiveOp::kAllToAll, 8,
     {7.44, 7.52, 16.96, 12.93, 15.61, 18.58,
      26.2, 41.36, 75.66, 124.9, 402.4, 1490}},
};
// clang-format on

}  // namespace h100_sxm_collectives

absl::Span<const ReferenceCollectiveRow> H100SxmCollectives() {
  return h100_sxm_collectives::kRows;
}

}  // namespace sextant
