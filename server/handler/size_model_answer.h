// The answer to SizeModel.
#ifndef SEXTANT_SERVER_HANDLER_SIZE_MODEL_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_SIZE_MODEL_ANSWER_H_

#include "absl/status/status.h"
#include "engine/base/call_work.h"
#include "server/convert/device_resolver.h"
#include "server/metrics/metrics.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// The largest model that `request` asks for.
//
// Errors: those of FindLargestModel(), fields named from the request on.
absl::Status AnswerSizeModel(const v1::SizeModelRequest& request, const DeviceResolver& resolver,
                             CallWork& work, Metrics& metrics, v1::SizeModelResponse* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_SIZE_MODEL_ANSWER_H_
