// The wait of calls that take milliseconds.
#ifndef SEXTANT_SERVER_HANDLER_ON_WORKER_H_
#define SEXTANT_SERVER_HANDLER_ON_WORKER_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/call/call.h"
#include "server/call/worker_pool.h"
#include "server/device/device_finder.h"

namespace sextant::server {

// The selectors of the devices that a request is about.
template <typename Request>
std::vector<const v1::DeviceSelector*> DevicesOf(const Request& request) {
  if constexpr (requires { request.runs(); }) {
    std::vector<const v1::DeviceSelector*> out;
    for (const auto& run : request.runs()) out.push_back(&run.cluster().device());
    return out;
  } else if constexpr (requires { request.run(); }) {
    return DevicesOf(request.run());
  } else if constexpr (requires { request.cluster(); }) {
    return {&request.cluster().device()};
  } else if constexpr (requires { request.device().device(); }) {
    return {&request.device().device()};
  } else if constexpr (requires { request.device(); }) {
    return {&request.device()};
  } else {
    return {};
  }
}

struct NeverShort {
  template <typename Request>
  bool operator()(const Request&) const {
    return false;
  }
};

// Answers requests on a thread of `workers`, once the metrics of the fleet that they name are read:
// but at once those that `is_short` holds for.
template <typename Short = NeverShort>
struct OnWorker {
  WorkerPool* workers;
  FleetReader* fleet = nullptr;
  Short is_short = {};

  template <typename Request, typename Then>
  void operator()(const Request& request, const Call& call, Then then) const {
    if (is_short(request)) return then(absl::OkStatus());
    AfterFleet(fleet, DevicesOf(request), call.context().deadline(),
               [pool = workers, &call, then] { PostCall(call, *pool, std::move(then)); });
  }
};

// For clang before 17, which deduces no aggregate's arguments.
template <typename Short>
OnWorker(WorkerPool*, FleetReader*, Short) -> OnWorker<Short>;

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_ON_WORKER_H_
