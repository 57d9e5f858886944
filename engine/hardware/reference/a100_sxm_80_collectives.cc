// Measured collectives of a100-sxm-80: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.27.3, NCCL 2.27.3 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace a100_sxm_80_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {9.98, 10.22, 12.78, 15.26, 40.84, 47.58,
      55.78, 87.13, 128.2, 224.2, 747.5, 2781}},
    {CollectiveOp::kAllReduce, 4,
     {14.54, 14.3, 17.37, 18.15, 29.78, 46.22,
      68.76, 111, 183.5, 288, 1000, 3716}},
    {CollectiveOp::kAllReduce, 8,
     {22.57, 21.43, 25.96, 27.5, 38.85, 53.7,
      77.31, 128, 216.5, 367, 1169, 4226}},
    {CollectiveOp::kAllGather, 2,
     {8.98, 9.37, 11.97, 13.57, 19.95, 38.1,
      43.28, 59.72, 93.44, 153.7, 496.4, 1790}},
    {CollectiveOp::kAllGather, 4,
     {10.76, 11.02, 15.08, 15.88, 22.53, 52.93,
      60.7, 73.19, 118.5, 176.5, 578.5, 2102}},
    {CollectiveOp::kAllGather, 8,
     {15.56, 14.65, 19.51, 20.99, 26.79, 33.45,
      47.95, 73.51, 135, 217.6, 660.3, 2288}},
    {CollectiveOp::kReduceScatter, 2,
     {8.9, 9.41, 11.54, 13.02, 19.4, 34.87,
      41.25, 53.1, 82.27, 134.7, 433.7, 1612}},
    {CollectiveOp::kReduceScatter, 4,
     {10.75, 11.21, 13.7, 14.33, 21.08, 48.69,
      56.68, 66.87, 109.3, 165.9, 538.7, 1982}},
    {CollectiveOp::kReduceScatter, 8,
     {15.58, 14.65, 16.83, 18.2, 23.43, 34.21,
      52.03, 79.49, 123.4, 210, 624, 2207}},
    {CollectiveOp::kAllToAll, 2,
     {10.52, 11.09, 13.87, 14.71, 22.79, 28.62,
      38.19, 56.05, 98.31, 136.5, 445.6, 1635}},
    {CollectiveOp::kAllToAll, 4,
     {12.43, 12.4, 14.11, 15.67, 25.2, 36.15,
      41.44, 60.84, 104.4, 172.9, 573.5, 2066}},
    {CollectiveOp::kAllToAll, 8,
     {15.82, 15.64, 13.27, 18.4, 25.81, 38.57,
      64.34, 67.84, 114.3, 191.3, 640.5, 2314}},
};
// clang-format on

}  // namespace a100_sxm_80_collectives

absl::Span<const ReferenceCollectiveRow> A100Sxm80Collectives() {
  return a100_sxm_80_collectives::kRows;
}

}  // namespace sextant
