// The sections of a calibration about matrix multiplication. Each starts with an empty line
// and its title, and is "" where the calibration has nothing for it.
#ifndef SEXTANT_CLIENT_MATMUL_TABLES_H_
#define SEXTANT_CLIENT_MATMUL_TABLES_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// "1024x4096x512", or "-" where no size is known.
std::string ShapeText(const v1::MatmulMeasurement& matmul);

// The shapes that the user asked for, with MFU against the datasheet where it is known.
std::string RequestedMatmulSection(const v1::Calibration& calibration);

// The grid, by data type.
std::string MatmulSection(const v1::Calibration& calibration);

std::string SustainedMatmulSection(const v1::Calibration& calibration);

// Which kernels multiplied.
std::string KernelSection(const v1::Calibration& calibration);

// What the registers do: the ceiling of the others.
std::string RegisterSection(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MATMUL_TABLES_H_
