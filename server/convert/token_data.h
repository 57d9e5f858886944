// Token ids, between the wire and the engine.
#ifndef SEXTANT_SERVER_CONVERT_TOKEN_DATA_H_
#define SEXTANT_SERVER_CONVERT_TOKEN_DATA_H_

#include "absl/status/status.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// Errors: kInvalidArgument naming the request's fields.
absl::Status DescribeTokensTo(const v1::DescribeTokensRequest& request,
                              v1::DescribeTokensResponse* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_TOKEN_DATA_H_
