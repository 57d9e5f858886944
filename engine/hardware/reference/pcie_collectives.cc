// Measured collectives of GPUs that PCIe joins.
// Made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0).
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives.h"

namespace sextant {
namespace pcie_collectives {

// clang-format off
// Table 2.27.3, NCCL 2.27.3 as its rows say.
constexpr ReferenceCollectiveRow kL40s[] = {
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

// Table 2.29.2, NCCL 2.29.2 as its rows say.
constexpr ReferenceCollectiveRow kRtxPro6000[] = {
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

constexpr ReferenceCollectiveTable kTables[] = {
    {"l40s", "2.27.3", kL40s},
    {"rtx-pro-6000", "2.29.2", kRtxPro6000},
};

}  // namespace pcie_collectives

absl::Span<const ReferenceCollectiveTable> PCIeCollectives() {
  return pcie_collectives::kTables;
}
// clang-format on

}  // namespace sextant
