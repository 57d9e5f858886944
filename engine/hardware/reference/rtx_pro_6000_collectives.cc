// Measured collectives of rtx-pro-6000: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.29.2, NCCL 2.29.2 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace rtx_pro_6000_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {6.34, 6.7, 8.09, 18.52, 44.37, 72.01,
      129.3, 243.8, 473.5, 930.6, 3620, 1.39e+04}},
    {CollectiveOp::kAllReduce, 4,
     {13.04, 13.68, 15.68, 41.05, 86.1, 141.7,
      245.4, 508.6, 1008, 2022, 8038, 3.049e+04}},
    {CollectiveOp::kAllReduce, 8,
     {24.57, 25.56, 29.36, 84.79, 131.5, 221.2,
      345.5, 661.4, 1248, 2494, 9757, 3.807e+04}},
    {CollectiveOp::kAllGather, 2,
     {5.88, 6.2, 6.32, 14.63, 31.23, 47.22,
      80.22, 145.5, 277.1, 539.9, 2113, 8306}},
    {CollectiveOp::kAllGather, 4,
     {9.37, 9.52, 10.87, 24.86, 51.53, 78.85,
      133.6, 278.1, 549.7, 1095, 4319, 1.72e+04}},
    {CollectiveOp::kAllGather, 8,
     {14.22, 16.07, 18.41, 45.66, 75.26, 116.9,
      183.1, 338.6, 654.6, 1300, 5138, 2.041e+04}},
    {CollectiveOp::kReduceScatter, 2,
     {5.29, 5.95, 7.29, 13.62, 31.24, 48.58,
      83.95, 153.6, 293.6, 574.3, 2206, 7971}},
    {CollectiveOp::kReduceScatter, 4,
     {9.54, 9.71, 10.53, 24.98, 51.26, 83.58,
      136.7, 280.6, 546.3, 1082, 4335, 1.692e+04}},
    {CollectiveOp::kReduceScatter, 8,
     {14.73, 15.73, 18.46, 46.36, 72, 119.3,
      177.3, 347.3, 646.8, 1282, 5145, 1.995e+04}},
    {CollectiveOp::kAllToAll, 2,
     {6.22, 6.84, 9.07, 14.12, 29.68, 50.45,
      90.49, 168.6, 326, 642.1, 2624, 1.045e+04}},
    {CollectiveOp::kAllToAll, 4,
     {8.35, 8.15, 12.07, 21, 52.29, 90.37,
      166.6, 302.1, 568.9, 1104, 4152, 1.66e+04}},
    {CollectiveOp::kAllToAll, 8,
     {9.52, 16.6, 19.51, 28.87, 77.88, 139.5,
      260, 501.4, 985.8, 1818, 6618, 2.55e+04}},
};
// clang-format on

}  // namespace rtx_pro_6000_collectives

absl::Span<const ReferenceCollectiveRow> RtxPro6000Collectives() {
  return rtx_pro_6000_collectives::kRows;
}

}  // namespace sextant
