// grpc.health.v1.Health for callers without gRPC, which has its own.
#ifndef SEXTANT_SERVER_HANDLER_HEALTH_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_HEALTH_SERVICE_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "server/call/service.h"

namespace sextant::server {

// Open to all, as gRPC's own is. Watch is left out: each would keep a connection's thread.
class HealthService final : public Service {
 public:
  // Answers for `services`, and "" for the whole server. `serves` is called on many threads;
  // `metrics` outlives the service.
  HealthService(Metrics& metrics, const std::vector<Service*>& services,
                std::function<bool()> serves);

 private:
  std::set<std::string> known_;
  const std::function<bool()> serves_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_HEALTH_SERVICE_H_
