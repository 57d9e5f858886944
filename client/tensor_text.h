// What steps do to a tensor, and what token ids take, for people.
#ifndef SEXTANT_CLIENT_TENSOR_TEXT_H_
#define SEXTANT_CLIENT_TENSOR_TEXT_H_

#include <string>
#include <vector>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// The tensor, then each step in two lines: its result, and why. `steps` are the steps as they
// were written, one for each of the answer's.
std::string TensorText(const v1::AnalyzeTensorResponse& response,
                       const std::vector<std::string>& steps);

// `request` is what was asked.
std::string TokensText(const v1::DescribeTokensRequest& request,
                       const v1::DescribeTokensResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_TENSOR_TEXT_H_
