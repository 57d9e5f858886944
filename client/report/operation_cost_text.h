// The costs of an operation for people: arithmetic, bytes, arrays kept for the backward pass, and
// the contraction order of an einsum.
#ifndef SEXTANT_CLIENT_REPORT_OPERATION_COST_TEXT_H_
#define SEXTANT_CLIENT_REPORT_OPERATION_COST_TEXT_H_

#include <string>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant::client {

// "8,796,093,022,208 FLOP (8.80 TFLOP), 1.75 GiB moved, 4,681.14 FLOP/byte".
std::string SumText(const v1::CostSum& sum);

// The kernels, a row each, each followed by its arithmetic with the reasons.
std::string KernelsText(const v1::OperationCost& cost);

// Sections. Each starts with an empty line and its title, and is "" where the answer has nothing to
// show.
//
// Every term of the forward pass with its reason, kernel by kernel where there are several.
std::string ForwardSection(const v1::AnalyzeOperationResponse& response);

// The result's shape, the axes, and the orders of contraction, each step by step.
std::string EinsumSection(const v1::AnalyzeOperationResponse& response);

// The separate kernels, and how much more they move.
std::string UnfusedSection(const v1::AnalyzeOperationResponse& response);

// Each product and kernel, the saved arrays and why they are saved, and the cost without the first
// input's gradient.
std::string BackwardSection(const v1::AnalyzeOperationResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_OPERATION_COST_TEXT_H_
