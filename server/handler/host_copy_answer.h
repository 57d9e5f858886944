// The rates of a copy between host and device that a request leaves to the server.
#ifndef SEXTANT_SERVER_HANDLER_HOST_COPY_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_HOST_COPY_ANSWER_H_

#include <vector>

#include "absl/status/status.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/rates.h"
#include "engine/operation/operation.h"
#include "engine/time/operation_rates.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant::server {

// Fills the rates that `copy`, the request's operation, lacks from `named`, the request's device,
// and appends them to `used`. Adds to `violations` rates that nothing says, and fields of the
// device that say nothing of such a copy.
//
// Errors: kNotFound GPU_UNKNOWN, DEVICE_UNKNOWN, NODE_TYPE_UNKNOWN; kFailedPrecondition
// RATES_NOT_MEASURED, where a device was never measured or its rates are worse than
// device.rate_requirement demands. None of them where there are violations.
absl::Status FillHostCopy(const v1::AnalyzeOperationRequest& request, const OperationDevice& named,
                          HostCopy& copy, std::vector<Rate>& used, FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_HOST_COPY_ANSWER_H_
