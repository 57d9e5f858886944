// Times of kernels, and of exchanges among devices, over their sizes, for people.
#ifndef SEXTANT_CLIENT_REPORT_KERNEL_RATES_TEXT_H_
#define SEXTANT_CLIENT_REPORT_KERNEL_RATES_TEXT_H_

#include <string>

#include "client/report/rates_text.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/kernel.pb.h"

namespace sextant::client {

// A picture and a table of each kind of kernel, and the sources of the times. Here and below
// `words` names the request's fields.
std::string KernelRatesText(const v1::GetKernelRatesResponse& response, FieldWords words);

// A picture of the exchanges' bus bandwidth, a table an operation, and the sources of the times.
std::string LinkTimesText(const v1::GetLinkTimesResponse& response, FieldWords words);

// "40 measured shapes, each unseen: 3.10 % off in the median, 8.00 % at the 90th percentile"; ""
// without shapes.
std::string PredictionErrorText(const v1::PredictionError& error);

// "measured shapes around it", "datasheet, published share".
std::string KernelBasisText(v1::KernelBasis basis);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_KERNEL_RATES_TEXT_H_
