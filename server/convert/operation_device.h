// The device of an operation, and its times there.
#ifndef SEXTANT_SERVER_CONVERT_OPERATION_DEVICE_H_
#define SEXTANT_SERVER_CONVERT_OPERATION_DEVICE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/operation/analysis.h"
#include "engine/time/operation_rates.h"
#include "server/convert/device_resolver.h"
#include "server/convert/enum_pair.h"
#include "server/convert/notes.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/operation_device.pb.h"

namespace sextant::server {

// Converts `wire`, the field `path`; the result's texts point into it and into what `resolver`
// reads.
OperationDevice OperationDeviceFrom(const v1::OperationDevice& wire, absl::string_view path,
                                    const DeviceResolver& resolver, FieldViolations& violations);

using RooflineMethodPair = OneLater<RooflineMethod::kClassical, v1::RooflineMethod_MAX>;

struct TimedOperation {
  const OperationRequest& request;
  const OperationAnalysis& analysis;
  const OperationRates& rates;
  RooflineMethod method = RooflineMethod::kSmooth;
  absl::optional<double> achieved_seconds = {};
};

// `sources` numbers those of `out`. Errors: those of RooflineOf(), AdviceFor() and UtilisationOf(),
// as fields of the request.
absl::Status OperationTimeTo(const TimedOperation& timed, SourceNumbers& sources,
                             v1::OperationTime* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_OPERATION_DEVICE_H_
