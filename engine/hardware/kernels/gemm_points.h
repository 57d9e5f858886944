// Which multiplications to measure: a rule that a probe and a published table can both follow.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_POINTS_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_POINTS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "engine/hardware/kernels/gemm_calibration.h"
#include "engine/hardware/kernels/gemm_shape.h"

namespace sextant {

// In the order in which to measure them; as many from the front as there is time for.
//
// 63 anchors, m of 1, 16, 64, 256, 1024, 4096, 8192 with n and k of 1024, 4096, 16384, span the
// range. Then a scatter of shapes between them, with rows that fill tiles of 128 and 256 and rows
// that don't (257, 513, 1025: these tell what an unfilled tile costs). The scatter is a list of
// all, m slowest, walked in steps of 0.618 of its length, which leaves no region for last (the
// golden ratio's multiples are spread evenly; Knuth, TAOCP vol. 3, 6.4). From memory.
std::vector<GemmShape> GemmPointShapes();

// The same for checks: other rows, and n and k of models' layers. Disjoint from the points.
std::vector<GemmShape> GemmCheckShapes();

// How many of each a calibration holds: 200 with both.
inline constexpr size_t kGemmPointCount = 160;
inline constexpr size_t kGemmCheckCount = 40;

// Puts the first kGemmPointCount and kGemmCheckCount of the two lists that are in `measured` into
// `calibration`.
void ChooseGemmPoints(absl::Span<const MeasuredGemm> measured, GemmCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_POINTS_H_
