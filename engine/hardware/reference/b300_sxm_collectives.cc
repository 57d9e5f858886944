// Measured collectives of b300-sxm: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.29.2, NCCL 2.29.2 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace b300_sxm_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {9.99, 10.13, 11.38, 11.19, 14.63, 18.78,
      36.61, 40.34, 52.32, 82.18, 267.7, 987.5}},
    {CollectiveOp::kAllReduce, 4,
     {14.3, 14.7, 16.14, 17.03, 18.91, 23.25,
      35.26, 84.09, 94.62, 119, 338.2, 1261}},
    {CollectiveOp::kAllReduce, 8,
     {24.64, 25.54, 26.75, 28.13, 28.54, 32.21,
      52.73, 70.07, 97.55, 166.9, 391.5, 1335}},
    {CollectiveOp::kAllGather, 2,
     {7.98, 8.11, 8.71, 12.92, 12.04, 15.03,
      22.96, 29.45, 36.85, 53.43, 167.4, 604}},
    {CollectiveOp::kAllGather, 4,
     {10.57, 10.69, 12.24, 13.29, 14.68, 18.37,
      25.08, 49.8, 56.89, 70.13, 193.6, 703.4}},
    {CollectiveOp::kAllGather, 8,
     {15.71, 16.3, 18.78, 18.45, 19.12, 21.52,
      28.97, 43.25, 100.4, 111.8, 204.5, 756.9}},
    {CollectiveOp::kReduceScatter, 2,
     {8.33, 8.59, 9.61, 9.97, 11.55, 14.89,
      21.12, 27.7, 36.55, 53.2, 182.9, 644.7}},
    {CollectiveOp::kReduceScatter, 4,
     {10.65, 10.78, 12.03, 12.86, 13.74, 17.21,
      23.54, 47.08, 53.55, 69.06, 198.6, 722.2}},
    {CollectiveOp::kReduceScatter, 8,
     {15.86, 16.43, 16.98, 18.18, 18.56, 20.35,
      27.03, 43.01, 95.42, 105.9, 204.7, 764.9}},
    {CollectiveOp::kAllToAll, 2,
     {8.9, 8.59, 11.04, 15.74, 16.25, 17.09,
      20.48, 27.61, 37.95, 70.68, 218.7, 786.5}},
    {CollectiveOp::kAllToAll, 4,
     {10.57, 9.91, 10.89, 16.55, 17.57, 19.1,
      23.57, 30.46, 45.54, 72.86, 222.2, 802}},
    {CollectiveOp::kAllToAll, 8,
     {11.22, 11.28, 12.67, 16.92, 18.97, 19.16,
      23.46, 32.92, 48.88, 79.16, 229.3, 809.9}},
};
// clang-format on

}  // namespace b300_sxm_collectives

absl::Span<const ReferenceCollectiveRow> B300SxmCollectives() {
  return b300_sxm_collectives::kRows;
}

}  // namespace sextant
