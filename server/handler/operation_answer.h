// The answer to AccountingService.AnalyzeOperation.
#ifndef SEXTANT_SERVER_HANDLER_OPERATION_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_OPERATION_ANSWER_H_

#include "absl/status/status.h"
#include "server/handler/accounting_service.h"

namespace sextant::server {

// Errors: as the API says.
absl::Status AnswerOperation(const v1::AnalyzeOperationRequest& request,
                             const AccountingOptions& options,
                             v1::AnalyzeOperationResponse* response);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_OPERATION_ANSWER_H_
