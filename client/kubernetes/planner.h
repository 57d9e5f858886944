// The planner, as controllers ask it: some seconds at most, and not again and again while it is
// away.
#ifndef SEXTANT_CLIENT_KUBERNETES_PLANNER_H_
#define SEXTANT_CLIENT_KUBERNETES_PLANNER_H_

#include <chrono>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "client/io/call.h"

namespace sextant::client {

// True for an error that another try may not have: the planner is away, or busy.
bool IsAway(const grpc::Status& status);

// "llama-9b is not known", with the fields that are wrong.
std::string FaultLine(const grpc::Status& status);

// Asks a planner for one thread.
class Planner {
 public:
  explicit Planner(ServerAddress server) : server_(std::move(server)) {}

  // As Call(). For a second after the planner was away it is not asked: it is away.
  template <typename Method, typename Request, typename Response>
  grpc::Status Ask(Method method, const Request& request, Response* response) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return away_;
    const grpc::Status status = Call(server_, method, request, response);
    if (IsAway(status)) {
      away_ = status;
      next_ = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    }
    return status;
  }

 private:
  const ServerAddress server_;
  std::chrono::steady_clock::time_point next_;
  grpc::Status away_;
};

// How long objects have waited for an answer: by when they were first seen.
class Waits {
 public:
  explicit Waits(absl::Duration patience) : patience_(patience) {}

  // True once the object has waited for longer than the patience: since `since`, RFC 3339, as the
  // API server's clock has it, or since the first call with its uid, whichever is earlier.
  bool IsOver(const std::string& uid, const std::string& since);
  void Forget(const std::string& uid) { first_.erase(uid); }

 private:
  const absl::Duration patience_;
  std::map<std::string, absl::Time> first_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_KUBERNETES_PLANNER_H_
