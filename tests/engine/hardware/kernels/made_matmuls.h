// Devices that do exactly what a formula says, for tests of what is made of their times.
#ifndef SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_MATMULS_H_
#define SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_MATMULS_H_

#include <functional>

#include "engine/hardware/kernels/matmul_calibration.h"

namespace sextant {

using MatmulLaw = std::function<double(const MatmulShape& shape)>;

// 1e15 FLOP/s, 3e12 bytes/s and 4 us, added.
double AddedSeconds(const MatmulShape& shape);

// Tiles of 128 x 256 on 100 units, all waves as long as a full one; 4 us and memory on top.
double WavesSeconds(const MatmulShape& shape);

// All 200 shapes in bf16, on 100 units.
MatmulCalibration MadeMatmuls(const MatmulLaw& law);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_MATMULS_H_
