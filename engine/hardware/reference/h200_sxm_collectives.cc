// Measured collectives of h200-sxm: made by make_collectives_reference.py, not by hand.
//
// Source: ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0),
// table 2.29.2, NCCL 2.29.2 as its rows say.
// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.
// Microseconds, by kReferenceCollectiveSizes.
#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {
namespace h200_sxm_collectives {

// clang-format off
constexpr ReferenceCollectiveRow kRows[] = {
    {CollectiveOp::kAllReduce, 2,
     {6.05, 6.69, 7.28, 8.69, 14.26, 26.84,
      32.39, 45.63, 76.2, 139.1, 463, 1704}},
    {CollectiveOp::kAllReduce, 4,
     {9.49, 9.44, 11.34, 11.74, 18.06, 27.45,
      39.79, 60.08, 98.77, 171.6, 612.2, 2311}},
    {CollectiveOp::kAllReduce, 8,
     {16.01, 16.04, 18.38, 20.8, 26.14, 37.46,
      51.37, 78.3, 121.7, 197.3, 564.5, 2040}},
    {CollectiveOp::kAllGather, 2,
     {5.36, 5.24, 5.96, 7.38, 11.28, 16.17,
      26.4, 35.57, 54.11, 90.23, 288.5, 1042}},
    {CollectiveOp::kAllGather, 4,
     {8.23, 7.28, 8.78, 9.06, 13.52, 18.73,
      35.94, 43.7, 63.85, 105.1, 344.5, 1272}},
    {CollectiveOp::kAllGather, 8,
     {12.19, 10.56, 14.71, 14.59, 16.96, 24.28,
      41.31, 43.17, 66.91, 123.4, 379.9, 1395}},
    {CollectiveOp::kReduceScatter, 2,
     {5.26, 5.34, 6.05, 7.23, 10.42, 15.12,
      23.38, 31.64, 50.58, 92.03, 305, 1083}},
    {CollectiveOp::kReduceScatter, 4,
     {7.34, 7.37, 7.88, 8.39, 11.68, 17.83,
      32.83, 38.77, 57.99, 102.2, 348.8, 1294}},
    {CollectiveOp::kReduceScatter, 8,
     {12.58, 10.77, 11.55, 13.25, 14.41, 19.71,
      30.43, 44.72, 69.45, 111.6, 375.6, 1393}},
    {CollectiveOp::kAllToAll, 2,
     {6.35, 6.85, 9.25, 13.65, 13.52, 15.01,
      19.82, 29.28, 51.84, 80.41, 251.5, 901.7}},
    {CollectiveOp::kAllToAll, 4,
     {11.06, 6.8, 8.13, 15.03, 14.47, 16.5,
      22.98, 36.17, 64.78, 107, 341.9, 1262}},
    {CollectiveOp::kAllToAll, 8,
     {11.63, 10.96, 9.26, 14.09, 16.17, 17.73,
      26.62, 40.28, 73.44, 124.1, 403.9, 1510}},
};
// clang-format on

}  // namespace h200_sxm_collectives

absl::Span<const ReferenceCollectiveRow> H200SxmCollectives() {
  return h200_sxm_collectives::kRows;
}

}  // namespace sextant
