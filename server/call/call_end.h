// The end of a call before its answer: its caller left, or its deadline passed.
#ifndef SEXTANT_SERVER_CALL_CALL_END_H_
#define SEXTANT_SERVER_CALL_CALL_END_H_

#include "absl/status/status.h"
#include "server/call/call_context.h"

namespace sextant::server {

// OK while somebody waits for the call's answer. kDeadlineExceeded once its deadline has passed,
// kCancelled once its caller has left, both CALL_CANCELLED: an answer that nobody reads would
// delay the waiting calls, or the shutdown of a server.
absl::Status EndOf(const CallContext& context);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_CALL_END_H_
