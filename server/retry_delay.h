// When a caller should try again.
#ifndef SEXTANT_SERVER_RETRY_DELAY_H_
#define SEXTANT_SERVER_RETRY_DELAY_H_

#include "absl/status/status.h"
#include "absl/types/optional.h"

namespace sextant {

// `status` carrying the advice to wait for `seconds` (finite, >= 0) and try again; on the wire
// a google.rpc.RetryInfo. An OK status stays as it is.
absl::Status WithRetryDelay(absl::Status status, double seconds);

// The advice that `status` carries, in seconds; absent where it carries none.
absl::optional<double> RetryDelaySecondsOf(const absl::Status& status);

}  // namespace sextant

#endif  // SEXTANT_SERVER_RETRY_DELAY_H_
