// The cost of an operation, of a graph's training step and of steps on a tensor, for people, and an
// operation's time on a device.
#ifndef SEXTANT_CLIENT_REPORT_OPERATION_TEXT_H_
#define SEXTANT_CLIENT_REPORT_OPERATION_TEXT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/report/rates_text.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/operation_device.pb.h"

namespace sextant::client {

struct OperationTextOptions {
  std::string sizes = "";  // of the request, by name: "m=8, n=4, k=2"; "" for none
  std::string plot = "";   // placed below the times; "" for none
  absl::Time now = {};     // dates measurements
  FieldWords words;        // names the request's fields
};

// The operation and its sums first, then every section.
std::string OperationText(const v1::AnalyzeOperationResponse& response,
                          const OperationTextOptions& options);

// "109.91 us predicted, 74.55 us to 177.19 us (80 %)", of the forward pass; "" where nothing was
// predicted.
std::string PredictionSummary(const v1::OperationTime& time);

// Predicted times with their intervals, their sources, and the nearest measured shapes; "" where
// nothing was predicted. Starts with an empty line and its title.
std::string PredictionSection(const v1::OperationTime& time, absl::Time now);

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

// The sums first, then operations, saved arrays, and the peak of memory; kernel by kernel where the
// answer holds kernels.
std::string GraphText(const v1::AnalyzeGraphResponse& response);

// The tensor, then each step in two lines: its result, and why. `steps` are the steps as written,
// one for each of the answer's.
std::string TensorText(const v1::AnalyzeTensorResponse& response,
                       const std::vector<std::string>& steps);

// The answer to `request`.
std::string TokensText(const v1::DescribeTokensRequest& request,
                       const v1::DescribeTokensResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_OPERATION_TEXT_H_
