// The answer to AccountingService.AnalyzeOperation.
#ifndef SEXTANT_SERVER_OPERATION_ANSWER_H_
#define SEXTANT_SERVER_OPERATION_ANSWER_H_

#include "absl/status/status.h"
#include "server/accounting_service.h"

namespace sextant {

// Errors: as the API says.
absl::Status AnswerOperation(const v1::AnalyzeOperationRequest& request,
                             const AccountingOptions& options,
                             v1::AnalyzeOperationResponse* response);

}  // namespace sextant

#endif  // SEXTANT_SERVER_OPERATION_ANSWER_H_
