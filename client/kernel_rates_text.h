// Rates of a device's kernels for people.
#ifndef SEXTANT_CLIENT_KERNEL_RATES_TEXT_H_
#define SEXTANT_CLIENT_KERNEL_RATES_TEXT_H_

#include <string>

#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/kernel.pb.h"

namespace sextant {

// Of each kind a picture and a table, and what they stand on.
std::string KernelRatesText(const v1::GetKernelRatesResponse& response);

// "40 measured shapes, each unseen: 3.10 % off in the median, 8.00 % at the 90th percentile"; ""
// without shapes.
std::string PredictionErrorText(const v1::PredictionError& error);

// "between measured shapes", "datasheet peaks and a published share".
std::string KernelBasisText(v1::KernelBasis basis);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_KERNEL_RATES_TEXT_H_
