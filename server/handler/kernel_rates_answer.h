// Answers GetKernelRates: how fast kernels run on a device.
#ifndef SEXTANT_SERVER_HANDLER_KERNEL_RATES_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_KERNEL_RATES_ANSWER_H_

#include "absl/status/status.h"
#include "server/convert/device_selector.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::server {

// Errors: kInvalidArgument (FIELD_INVALID), kNotFound (GPU_UNKNOWN, DEVICE_UNKNOWN),
// kFailedPrecondition (RATES_NOT_MEASURED).
absl::Status AnswerKernelRates(const v1::GetKernelRatesRequest& request,
                               const DeviceSources& sources, v1::GetKernelRatesResponse* response);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_KERNEL_RATES_ANSWER_H_
