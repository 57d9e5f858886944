// The tables of a calibration about attention, layers of experts, collectives and host copies.
#ifndef SEXTANT_GPU_PROBE_KERNEL_TABLES_H_
#define SEXTANT_GPU_PROBE_KERNEL_TABLES_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// One after the other; those that the calibration has nothing for are left out.
std::string KernelTables(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_KERNEL_TABLES_H_
