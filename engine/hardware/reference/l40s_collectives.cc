// Measured collectives of l40s: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.27.3, NCCL 2.27.3 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace l40s_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {7.74, 6.46, 9.1, 30.67, 74.76, 120.7,
      221.5, 428.9, 850.4, 1689, 6720, 2.67e+04}},
    {CollectiveOp::kAllReduce, 4,
     {11.89, 12.36, 20.07, 109.7, 268.3, 622.1,
      1235, 2459, 4922, 9837, 3.933e+04, 1.56e+05}},
    {CollectiveOp::kAllReduce, 8,
     {22.6, 25.76, 90.3, 426, 863.2, 2618,
      5149, 9988, 1.938e+04, 3.885e+04, 1.625e+05, 6.495e+05}},
    {CollectiveOp::kAllGather, 2,
     {5.3, 7.89, 8.29, 18.31, 48.51, 71.79,
      121.8, 227.6, 439, 868, 3476, 1.37e+04}},
    {CollectiveOp::kAllGather, 4,
     {8.63, 8.73, 13.65, 66.63, 154.6, 329.1,
      673.8, 1343, 2647, 5274, 2.142e+04, 8.496e+04}},
    {CollectiveOp::kAllGather, 8,
     {13.94, 15.12, 46.68, 315.5, 509.9, 1490,
      2912, 6101, 1.231e+04, 2.464e+04, 9.932e+04, 4.002e+05}},
    {CollectiveOp::kReduceScatter, 2,
     {5.31, 7.7, 8.3, 18.18, 47.48, 72.57,
      125.4, 233.9, 459.3, 901.2, 3636, 1.418e+04}},
    {CollectiveOp::kReduceScatter, 4,
     {8.48, 8.8, 14.22, 67.37, 152.4, 321.6,
      644.5, 1301, 2598, 5205, 2.069e+04, 8.099e+04}},
    {CollectiveOp::kReduceScatter, 8,
     {13.15, 15.25, 47.17, 333.3, 540, 1233,
      2523, 5054, 9472, 1.814e+04, 6.7e+04, 2.842e+05}},
    {CollectiveOp::kAllToAll, 2,
     {7.09, 9.38, 9.34, 20.49, 43.39, 66.14,
      112.4, 205.9, 401, 763.5, 3008, 1.204e+04}},
    {CollectiveOp::kAllToAll, 4,
     {9.47, 9.61, 18.56, 54.9, 185.6, 359.9,
      697.5, 1357, 2691, 5426, 2.195e+04, 8.865e+04}},
    {CollectiveOp::kAllToAll, 8,
     {11.97, 12.84, 62.55, 522.6, 861.6, 1716,
      3231, 6224, 1.189e+04, 2.428e+04, 5.783e+04, 2.381e+05}},
};
// clang-format on

}  // namespace l40s_collectives

absl::Span<const ReferenceCollectiveRow> L40sCollectives() { return l40s_collectives::kRows; }

}  // namespace sextant
