// The sections of a calibration about attention, layers of experts, collectives and copies to and
// from the host. Each starts with an empty line and its title, and is "" where the calibration has
// nothing for it.
#ifndef SEXTANT_CLIENT_KERNEL_TABLES_H_
#define SEXTANT_CLIENT_KERNEL_TABLES_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

std::string AttentionSection(const v1::Calibration& calibration);
std::string ExpertsSection(const v1::Calibration& calibration);
std::string CollectiveSection(const v1::Calibration& calibration);
std::string HostCopySection(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_KERNEL_TABLES_H_
