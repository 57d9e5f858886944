// Answers ListNodeTypes and GetLinkTimes: how devices are joined and how long exchanges take.
#ifndef SEXTANT_SERVER_HANDLER_LINK_TIMES_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_LINK_TIMES_ANSWER_H_

#include "absl/status/status.h"
#include "server/convert/device_resolver.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::server {

// Errors: kNotFound (NODE_TYPE_UNKNOWN).
absl::Status AnswerListNodeTypes(const v1::ListNodeTypesRequest& request,
                                 v1::ListNodeTypesResponse* response);

// Errors: kInvalidArgument (FIELD_INVALID), all faults at once; else kNotFound (NODE_TYPE_UNKNOWN,
// GPU_UNKNOWN, DEVICE_UNKNOWN, NETWORK_UNKNOWN), or kFailedPrecondition (RATES_NOT_MEASURED).
absl::Status AnswerLinkTimes(const v1::GetLinkTimesRequest& request, const DeviceResolver& resolver,
                             v1::GetLinkTimesResponse* response);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_LINK_TIMES_ANSWER_H_
