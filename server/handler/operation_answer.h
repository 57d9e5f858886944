// The answer to AccountingService.AnalyzeOperation.
#ifndef SEXTANT_SERVER_HANDLER_OPERATION_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_OPERATION_ANSWER_H_

#include "absl/status/status.h"
#include "engine/base/call_work.h"
#include "server/handler/accounting_service.h"

namespace sextant::server {

// Errors: as the API says, and those of `work`.
absl::Status AnswerOperation(const v1::AnalyzeOperationRequest& request,
                             const AccountingOptions& options, CallWork& work,
                             v1::AnalyzeOperationResponse* response);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_OPERATION_ANSWER_H_
