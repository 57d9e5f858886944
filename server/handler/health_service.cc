#include "server/handler/health_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/text.h"
#include "grpc/health/v1/health.pb.h"
#include "server/call/call.h"

namespace sextant::server {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

HealthService::HealthService(Metrics& metrics, const std::vector<Service*>& services,
                             std::function<bool()> serves)
    : Service("grpc.health.v1.Health", metrics, {}), known_{""}, serves_(std::move(serves)) {
  for (const Service* service : services) known_.insert(service->name());
  Add(AnsweredBy<HealthCheckRequest, HealthCheckResponse>(
      [this](const CallContext&, const HealthCheckRequest& in, HealthCheckResponse* out) {
        if (known_.count(in.service()) == 0) {
          return WithReason(absl::NotFoundError(absl::StrCat("service: there is none of the name ",
                                                             Escaped(in.service()))),
                            "SERVICE_UNKNOWN");
        }
        out->set_status(serves_() ? HealthCheckResponse::SERVING
                                  : HealthCheckResponse::NOT_SERVING);
        return absl::OkStatus();
      }));
}

}  // namespace sextant::server
