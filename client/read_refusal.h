// What becomes of a request whose file can't be read.
#ifndef SEXTANT_CLIENT_READ_REFUSAL_H_
#define SEXTANT_CLIENT_READ_REFUSAL_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace sextant {

// `status`, which ReadText() failed with, as a request that is not sent: REQUEST_TOO_LARGE or
// REQUEST_MALFORMED.
grpc::Status ReadRefusal(const absl::Status& status);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_READ_REFUSAL_H_
