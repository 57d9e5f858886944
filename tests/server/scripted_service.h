// A service whose calls a test answers, and a port of the Connect protocol for it.
#ifndef SEXTANT_TESTS_SERVER_SCRIPTED_SERVICE_H_
#define SEXTANT_TESTS_SERVER_SCRIPTED_SERVICE_H_

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/call/call.h"
#include "server/call/stream_call.h"
#include "server/connect/connect_port.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/server/fake_exchange.h"

namespace sextant::server {

// By the names of three unary methods, of which the first has GET, and of a stream.
class ScriptedService final : public Service {
 public:
  ScriptedService(Metrics& metrics, const CallRules& rules)
      : Service("sextant.v1.PlanningService", metrics, rules) {
    const UnaryHandler scripted = [this](Method& method, UnaryTransport& transport) {
      unary(method, transport);
    };
    Add("PlanRun", scripted);
    Add("SizeModel", scripted);
    Add("Admit", scripted);
    Add("WatchPlanRun", StreamHandler([this](Method& method, StreamTransport& transport) {
          return stream(method, transport);
        }));
  }

  UnaryHandler unary;
  StreamHandler stream;
};

class ConnectTest : public ::testing::Test {
 protected:
  explicit ConnectTest(const CallRules& rules = {}) : service_(metrics_, rules) {
    auto port = ConnectPort::Of({&service_});
    EXPECT_TRUE(port.ok()) << port.status();
    port_ = *std::move(port);
  }

  static std::string PathOf(const std::string& method) {
    return absl::StrCat("/sextant.v1.PlanningService/", method);
  }

  // Has PlanRun's and SizeModel's calls end with `status`, or answer the model's name.
  void AnswerUnary(const absl::Status& status = absl::OkStatus()) {
    service_.unary = [status](Method& method, UnaryTransport& transport) {
      AnswerAfter<v1::PlanRunRequest, v1::PlanRunResponse>(
          method, transport, AtOnce(),
          [status](const v1::PlanRunRequest& in, v1::PlanRunResponse* out) {
            out->set_rates_fingerprint(in.model().preset());
            return status;
          });
    };
  }

  // Has WatchPlanRun send the model's name `count` times.
  void AnswerStream(int count, const absl::Status& status = absl::OkStatus()) {
    service_.stream = [count, status](Method& method, StreamTransport& transport) {
      auto call = std::make_unique<StreamCall>(method, transport, [] {});
      v1::PlanRunRequest in;
      absl::Status readable = call->admission();
      if (readable.ok()) readable = Decode(call->request(), &in);
      for (int i = 0; i < count && readable.ok(); ++i) {
        v1::WatchPlanRunResponse event;
        event.mutable_answer()->set_rates_fingerprint(in.model().preset());
        EXPECT_TRUE(call->Send(event, false).ok());
      }
      call->End(readable.ok() ? status : readable);
      return call;
    };
  }

  // Has the port answer `exchange`.
  void Answer(FakeExchange& exchange) const { EXPECT_TRUE(port_->Answer(exchange)); }

  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  ScriptedService service_;
  std::unique_ptr<ConnectPort> port_;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_SCRIPTED_SERVICE_H_
