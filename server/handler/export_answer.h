// The answer to ExportRunRequest.
#ifndef SEXTANT_SERVER_HANDLER_EXPORT_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_EXPORT_ANSWER_H_

#include "absl/status/status.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// Counts the model and finds the node that a launcher's file takes, and writes it. Errors: those of
// ExportRun(); of the run's numbers and model, below "request".
absl::Status AnswerExport(const v1::ExportRunRequest& request, v1::ExportRunResponse* response);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_EXPORT_ANSWER_H_
