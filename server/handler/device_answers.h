// Answers about devices: those of the server's host, and how fast kernels run on any.
#ifndef SEXTANT_SERVER_HANDLER_DEVICE_ANSWERS_H_
#define SEXTANT_SERVER_HANDLER_DEVICE_ANSWERS_H_

#include <chrono>

#include "absl/status/status.h"
#include "engine/base/call_work.h"
#include "server/convert/device_resolver.h"
#include "server/store/calibration_snapshot.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::server {

void AnswerListDevices(const CalibrationSnapshot& host, std::chrono::system_clock::time_point now,
                       v1::ListDevicesResponse* response);

// Errors: kNotFound (DEVICE_UNKNOWN), kInvalidArgument (FIELD_INVALID) where several devices
// could be meant or the mode is none, kFailedPrecondition (RATES_NOT_MEASURED).
absl::Status AnswerGetCalibration(const v1::GetCalibrationRequest& request,
                                  const CalibrationSnapshot& host,
                                  std::chrono::system_clock::time_point now,
                                  v1::GetCalibrationResponse* response);

// Errors: kInvalidArgument (FIELD_INVALID), kNotFound (GPU_UNKNOWN, DEVICE_UNKNOWN),
// kFailedPrecondition (RATES_NOT_MEASURED), and CallWork's.
absl::Status AnswerKernelRates(const v1::GetKernelRatesRequest& request,
                               const DeviceResolver& resolver, CallWork& work,
                               v1::GetKernelRatesResponse* response);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_DEVICE_ANSWERS_H_
