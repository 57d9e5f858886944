// Steps on a tensor, and the sizes of token ids, for people.
#ifndef SEXTANT_CLIENT_REPORT_TENSOR_TEXT_H_
#define SEXTANT_CLIENT_REPORT_TENSOR_TEXT_H_

#include <string>
#include <vector>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant::client {

// The tensor, then each step in two lines: its result, and why. `steps` are the steps as written,
// one for each of the answer's.
std::string TensorText(const v1::AnalyzeTensorResponse& response,
                       const std::vector<std::string>& steps);

// The answer to `request`.
std::string TokensText(const v1::DescribeTokensRequest& request,
                       const v1::DescribeTokensResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_TENSOR_TEXT_H_
