// The sections of a calibration about memory. Each starts with an empty line and its title,
// and is "" where the calibration has nothing for it.
#ifndef SEXTANT_CLIENT_MEMORY_TABLES_H_
#define SEXTANT_CLIENT_MEMORY_TABLES_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Plain passes over memory and over caches.
std::string StreamSection(const v1::Calibration& calibration);

// The ladder of multiply-adds an element, and the ridge.
std::string ElementwiseSection(const v1::Calibration& calibration);

std::string FusionSection(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEMORY_TABLES_H_
