// The sections of a calibration that GPUs alone have. Each starts with an empty line and its title,
// and is "" where the calibration has nothing for it.
#ifndef SEXTANT_CLIENT_GPU_TABLES_H_
#define SEXTANT_CLIENT_GPU_TABLES_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Batches, and operands in other layouts: plans pass over them.
std::string OtherMatmulSection(const v1::Calibration& calibration);

// Clock, power and share of the clock's limit of each sustained multiplication.
std::string SustainedConditionsSection(const v1::Calibration& calibration);

// What it takes to start a kernel.
std::string LaunchSection(const v1::Calibration& calibration);

// What the device told of itself meanwhile.
std::string ConditionsSection(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_GPU_TABLES_H_
