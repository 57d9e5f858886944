// The sections of a calibration about matrix multiplication. Each starts with an empty line and its
// title, and is "" where the calibration has no such measurement.
#ifndef SEXTANT_PROTO_TEXT_MATMUL_SECTIONS_H_
#define SEXTANT_PROTO_TEXT_MATMUL_SECTIONS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::text {

// "1024x4096x512", or "-" where no size is known.
std::string ShapeText(const v1::MatmulMeasurement& matmul);

// A table shows a part of a large grid: `json_flag` is the program's flag that prints all of it.

// The shapes that the user asked for, with MFU against the datasheet's peak where it is known.
std::string RequestedMatmulSection(const v1::Calibration& calibration, absl::string_view json_flag);

// The grid, by data type.
std::string MatmulSection(const v1::Calibration& calibration, absl::string_view json_flag);

std::string SustainedMatmulSection(const v1::Calibration& calibration, absl::string_view json_flag);

// Clock, power and share of the clock's limit of each sustained multiplication.
std::string SustainedConditionsSection(const v1::Calibration& calibration);

// Batches, and operands in other layouts, which plans do not use.
std::string OtherMatmulSection(const v1::Calibration& calibration);

// The kernels that multiplied.
std::string KernelSection(const v1::Calibration& calibration);

// The rates of arithmetic in registers alone: the upper bound of the others.
std::string RegisterSection(const v1::Calibration& calibration);

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_MATMUL_SECTIONS_H_
