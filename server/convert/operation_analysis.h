// What an operation costs, as an answer.
#ifndef SEXTANT_SERVER_CONVERT_OPERATION_ANALYSIS_H_
#define SEXTANT_SERVER_CONVERT_OPERATION_ANALYSIS_H_

#include "absl/status/status.h"
#include "engine/operation/analysis.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// All but the times on a device. `analysis` is that of `operation`.
//
// Errors: kInvalidArgument where an array takes more than 9.2e18 bytes.
absl::Status OperationAnalysisTo(const Operation& operation, const OperationAnalysis& analysis,
                                 v1::AnalyzeOperationResponse* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_OPERATION_ANALYSIS_H_
