// The tables of a calibration that GPUs alone have.
#ifndef SEXTANT_GPU_PROBE_GPU_TABLES_H_
#define SEXTANT_GPU_PROBE_GPU_TABLES_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Multiplications that are no points of a grid, starts of kernels, and what the device told of
// itself, one after the other; those that the calibration has nothing for are left out.
std::string GpuTables(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_GPU_TABLES_H_
