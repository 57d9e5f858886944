// Answers how long devices take to exchange bytes, and what joins them.
#ifndef SEXTANT_SERVER_LINK_TIMES_ANSWER_H_
#define SEXTANT_SERVER_LINK_TIMES_ANSWER_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// Errors: kNotFound (NODE_TYPE_UNKNOWN).
absl::Status AnswerListNodeTypes(const v1::ListNodeTypesRequest& request,
                                 v1::ListNodeTypesResponse* response);

// Errors: kInvalidArgument (FIELD_INVALID), all faults at once, calibrations ahead of `now` among
// them; else kNotFound (NODE_TYPE_UNKNOWN, GPU_UNKNOWN, NETWORK_UNKNOWN).
absl::Status AnswerLinkTimes(const v1::GetLinkTimesRequest& request, absl::Time now,
                             v1::GetLinkTimesResponse* response);

}  // namespace sextant

#endif  // SEXTANT_SERVER_LINK_TIMES_ANSWER_H_
