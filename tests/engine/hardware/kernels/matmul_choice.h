// A calibration's points and checks from a larger table of measured multiplications.
#ifndef SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MATMUL_CHOICE_H_
#define SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MATMUL_CHOICE_H_

#include <vector>

#include "absl/types/span.h"
#include "engine/hardware/kernels/matmul_calibration.h"

namespace sextant {

// The forward passes of engine/base/matmul_grid.h: MatmulGridPoints() and MatmulGridChecks().
std::vector<MatmulShape> MatmulPointShapes();
std::vector<MatmulShape> MatmulCheckShapes();

// Puts the first kMatmulPointCount and kMatmulCheckCount shapes of the two lists that are in
// `measured` into `calibration`.
void ChooseMatmulPoints(absl::Span<const MatmulPoint> measured, MatmulCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MATMUL_CHOICE_H_
