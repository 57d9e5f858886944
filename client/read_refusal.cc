#include "client/read_refusal.h"

#include <string>

#include "client/call_error.h"

namespace sextant {

grpc::Status ReadRefusal(const absl::Status& status) {
  const bool too_large = status.code() == absl::StatusCode::kOutOfRange;
  return RefusalStatus(too_large ? "REQUEST_TOO_LARGE" : "REQUEST_MALFORMED",
                       std::string(status.message()));
}

}  // namespace sextant
