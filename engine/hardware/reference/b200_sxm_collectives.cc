// Measured collectives of b200-sxm: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.29.2, NCCL 2.29.2 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace b200_sxm_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {10.26, 10.27, 10.83, 11.3, 14.22, 18.89,
      36.83, 41.51, 53.36, 83.25, 270.6, 1005}},
    {CollectiveOp::kAllReduce, 4,
     {15.09, 15.51, 16.99, 17.32, 19.03, 25.9,
      35.83, 84.91, 95.81, 122.8, 341.6, 1271}},
    {CollectiveOp::kAllReduce, 8,
     {25.09, 25.98, 27.33, 28.32, 30.14, 32.08,
      53.37, 71.58, 99.07, 167.8, 398.4, 1335}},
    {CollectiveOp::kAllGather, 2,
     {8.84, 8.93, 9.8, 10.17, 12.7, 15.76,
      23.21, 30.39, 37.47, 54.29, 169.6, 612.3}},
    {CollectiveOp::kAllGather, 4,
     {11.15, 11.33, 12.63, 13.47, 14.9, 18.4,
      25.25, 50.94, 57.92, 71.02, 195.7, 710.6}},
    {CollectiveOp::kAllGather, 8,
     {16.06, 18.6, 19.55, 18.86, 18.66, 24.38,
      29.23, 44.18, 103.9, 113.8, 206.7, 761.4}},
    {CollectiveOp::kReduceScatter, 2,
     {8.56, 9.12, 9.69, 9.84, 11.96, 14.82,
      22.02, 28.1, 37.75, 54.58, 185.1, 651}},
    {CollectiveOp::kReduceScatter, 4,
     {11.13, 13.25, 12.32, 12.92, 14.16, 19.16,
      24.42, 48.05, 54.69, 70.04, 199.6, 728.8}},
    {CollectiveOp::kReduceScatter, 8,
     {16.13, 16.44, 17.59, 18.34, 20.37, 20.99,
      27.21, 43.64, 96.99, 107.1, 208, 766.5}},
    {CollectiveOp::kAllToAll, 2,
     {9.2, 9.23, 11.38, 16.84, 16.72, 18.51,
      21.82, 27.87, 49, 63.74, 224.6, 810}},
    {CollectiveOp::kAllToAll, 4,
     {10.22, 10.24, 11.36, 17.27, 17.74, 19.6,
      24.18, 31.44, 46.87, 73.72, 230.7, 825.2}},
    {CollectiveOp::kAllToAll, 8,
     {10.65, 13.28, 11.43, 17.46, 18.77, 22.12,
      26.48, 34.67, 50.09, 88.8, 236.6, 834.2}},
};
// clang-format on

}  // namespace b200_sxm_collectives

absl::Span<const ReferenceCollectiveRow> B200SxmCollectives() {
  return b200_sxm_collectives::kRows;
}

}  // namespace sextant
