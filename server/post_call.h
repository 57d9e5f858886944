// Calls that wait for one of the server's own threads.
#ifndef SEXTANT_SERVER_POST_CALL_H_
#define SEXTANT_SERVER_POST_CALL_H_

#include <grpcpp/server_context.h>

#include <functional>

#include "absl/status/status.h"
#include "server/worker_pool.h"

namespace sextant {

// Calls `then` once, as WorkerPool::Post(). Of a caller who has gone when its turn comes, nothing
// is worked out (kCancelled CALL_CANCELLED): calls that wait would keep the others, or a server
// that stops, waiting for nobody.
void PostCall(const grpc::CallbackServerContext* context, WorkerPool& workers,
              std::function<void(const absl::Status&)> then);

}  // namespace sextant

#endif  // SEXTANT_SERVER_POST_CALL_H_
