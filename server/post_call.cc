#include "server/post_call.h"

#include <utility>

#include "engine/base/reason.h"

namespace sextant {

void PostCall(const grpc::CallbackServerContext* context, WorkerPool& workers,
              std::function<void(const absl::Status&)> then) {
  workers.Post([context, then = std::move(then)](const absl::Status& ready) {
    then(ready.ok() && context->IsCancelled()
             ? WithReason(absl::CancelledError("the caller left before the call's turn"),
                          "CALL_CANCELLED")
             : ready);
  });
}

}  // namespace sextant
