// Costs of operations, to the wire.
#ifndef SEXTANT_SERVER_CONVERT_OPERATION_COST_H_
#define SEXTANT_SERVER_CONVERT_OPERATION_COST_H_

#include "absl/status/status.h"
#include "engine/operation/analysis.h"
#include "engine/operation/cost.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/operation_cost.pb.h"

namespace sextant::server {

// Errors: kInvalidArgument "shape" where it takes more than 9.2e18 bytes.
absl::Status OperationArrayTo(const Array& array, v1::OperationArray* out);

void CostSumTo(const CostSum& sum, v1::CostSum* out);
void OperationCostTo(const OperationCost& cost, v1::OperationCost* out);
void BackwardCostTo(const BackwardCost& cost, v1::BackwardCost* out);

// Writes everything but the times on a device. `analysis` is that of `operation`.
//
// Errors: kInvalidArgument where an array takes more than 9.2e18 bytes.
absl::Status OperationAnalysisTo(const Operation& operation, const OperationAnalysis& analysis,
                                 v1::AnalyzeOperationResponse* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_OPERATION_COST_H_
