// The sections of a calibration other than matrix multiplication: memory, attention, layers of
// experts, collectives, copies and kernel launches. Each starts with an empty line and its title,
// and is "" where the calibration has no such measurement.
#ifndef SEXTANT_PROTO_TEXT_KERNEL_SECTIONS_H_
#define SEXTANT_PROTO_TEXT_KERNEL_SECTIONS_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant::text {

// Plain passes over memory and over caches.
std::string StreamSection(const v1::Calibration& calibration);

// The ladder of multiply-adds an element, and the ridge.
std::string ElementwiseSection(const v1::Calibration& calibration);

std::string FusionSection(const v1::Calibration& calibration);
std::string AttentionSection(const v1::Calibration& calibration);
std::string ExpertsSection(const v1::Calibration& calibration);
std::string CollectiveSection(const v1::Calibration& calibration);
std::string HostCopySection(const v1::Calibration& calibration);

// The time that it takes to start a kernel.
std::string LaunchSection(const v1::Calibration& calibration);

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_KERNEL_SECTIONS_H_
