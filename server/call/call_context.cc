#include "server/call/call_context.h"

#include <chrono>

#include "engine/base/reason.h"

namespace sextant::server {
namespace {

constexpr char kReason[] = "CALL_CANCELLED";

}  // namespace

absl::Status EndOf(const CallContext& context) {
  // gRPC cancels a call at its deadline, too, but on a thread of its own that may be late.
  if (std::chrono::system_clock::now() >= context.deadline()) {
    return WithReason(absl::DeadlineExceededError("the call's deadline came before its answer"),
                      kReason);
  }
  if (!context.IsCancelled()) return absl::OkStatus();
  return WithReason(absl::CancelledError("the caller left before the call's answer"), kReason);
}

}  // namespace sextant::server
