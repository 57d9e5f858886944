// The cost of an operation, and its time on a device, for people.
#ifndef SEXTANT_CLIENT_REPORT_OPERATION_TEXT_H_
#define SEXTANT_CLIENT_REPORT_OPERATION_TEXT_H_

#include <string>

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

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_OPERATION_TEXT_H_
