#include "server/convert/token_data.h"

#include <limits>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/token_ids.h"

namespace sextant {
namespace {

constexpr double kMaxTokensPerSecond = 1e18;

absl::StatusOr<int64_t> WidthOf(const v1::DescribeTokensRequest& request) {
  if (request.has_vocabulary_size()) return TokenIdBytes(request.vocabulary_size());
  return request.bytes_per_id();
}

}  // namespace

absl::Status DescribeTokensTo(const v1::DescribeTokensRequest& request,
                              v1::DescribeTokensResponse* out) {
  FieldViolations violations;
  violations.Require("", "token_count", request.token_count(), 1,
                     std::numeric_limits<int64_t>::max());
  if (request.has_vocabulary_size() == request.has_bytes_per_id()) {
    violations.Add("vocabulary_size", request.has_vocabulary_size()
                                          ? "is given beside bytes_per_id: give one of them"
                                          : "is required, unless bytes_per_id is given");
  }
  if (request.has_tokens_per_second()) {
    violations.RequireRange(
        "", "tokens_per_second", request.tokens_per_second(),
        FieldViolations::RealRange{.low = 0, .high = kMaxTokensPerSecond, .above_low = true});
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  SEXTANT_ASSIGN_OR_RETURN(const int64_t width, WidthOf(request));
  SEXTANT_ASSIGN_OR_RETURN(const Bytes size, TokenBytes(request.token_count(), width));
  out->set_bytes_per_id(width);
  out->set_size_bytes(size.value());
  if (request.has_tokens_per_second()) {
    out->set_bytes_per_second(static_cast<double>(width) * request.tokens_per_second());
  }
  return absl::OkStatus();
}

}  // namespace sextant
