// Every method of every service by the Connect protocol: the same answer as its handler gives.
#include <gmock/gmock.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "server/call/connect_error.h"
#include "server/call/status.h"
#include "server/connect/connect_call.h"
#include "server/connect/connect_port.h"
#include "server/handler/accounting_service.h"
#include "server/handler/hardware_service.h"
#include "server/handler/health_service.h"
#include "server/handler/planning_service.h"
#include "server/handler/telemetry_service.h"
#include "tests/server/fake_call.h"
#include "tests/server/fake_exchange.h"
#include "tests/server/fake_probe.h"
#include "tests/support/source_folder.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// All that a server of role "all" offers, without a probe.
class AllServices {
 public:
  explicit AllServices(const Access* access = nullptr)
      : accounting_(metrics_, {.calls = {.access = access},
                               .calibrations = Known(),
                               .now = absl::Now,
                               .supplied = &supplied_,
                               .workers = &workers_}),
        planning_(metrics_, {.calls = {.access = access},
                             .calibrations = Known(),
                             .now = absl::Now,
                             .supplied = &supplied_,
                             .workers = &workers_,
                             .short_searches = &searches_,
                             .searches = &searches_}),
        hardware_({.metrics = metrics_,
                   .calls = {.access = access},
                   .store = store_,
                   .supplied = supplied_,
                   .probe = probe_,
                   .workers = workers_}),
        telemetry_({.metrics = metrics_,
                    .calls = {.access = access},
                    .jobs = jobs_,
                    .host = Known(),
                    .now = absl::Now}),
        health_(metrics_, {&accounting_, &planning_}, [this] { return serves; }) {
    auto port = ConnectPort::Of(all());
    EXPECT_TRUE(port.ok()) << port.status();
    port_ = *std::move(port);
  }

  std::vector<Service*> all() {
    return {&accounting_, &planning_, &hardware_, &telemetry_, &health_};
  }

  // The answer to a unary call of `service`'s `method`, e.g. "PlanRun", by its handler alone.
  Ended Direct(Service& service, const std::string& method, const Message& request,
               Message* response) {
    FakeUnaryCall call({}, request);
    Ended out = server::Answer(service, method, call);
    if (out.status.ok()) {
      grpc::ByteBuffer bytes = *call.response();
      grpc::ProtoBufferReader reader(&bytes);
      EXPECT_TRUE(response->ParseFromZeroCopyStream(&reader));
    }
    return out;
  }

  FakeExchange Call(const std::string& method, const std::string& type, const std::string& body,
                    const std::string& token = "") {
    FakeExchange exchange({.path = absl::StrCat("/", method),
                           .headers = {{"content-type", type}, {"authorization", token}},
                           .body = body,
                           .peer = "ipv4:192.0.2.7:1"});
    EXPECT_TRUE(port_->Answer(exchange));
    return exchange;
  }

  bool serves = true;

 private:
  std::function<std::shared_ptr<const CalibrationSnapshot>()> Known() {
    return [this] { return store_.snapshot(); };
  }

  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  ProbeMetrics probe_metrics_{registry_, ProbeMetricsSet::kFull};
  CalibrationStore store_{"", "host"};
  SuppliedCalibrations supplied_;
  HostProbe probe_{{.off = true}, store_, probe_metrics_};
  JobProgress jobs_;
  WorkerPool workers_{{.threads = 1}};
  WorkerPool searches_{{.threads = 1, .max_paused = 4}};
  AccountingService accounting_;
  PlanningService planning_;
  HardwareService hardware_;
  TelemetryService telemetry_;
  HealthService health_;
  std::unique_ptr<ConnectPort> port_;
};

std::unique_ptr<Message> EmptyMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

std::string JsonIn(const Message& message) {
  std::string out;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &out).ok());
  return out;
}

bool ReadAnswer(const HttpAnswer& answer, Message* out) {
  if (answer.content_type == "application/proto") return out->ParseFromString(answer.body);
  return google::protobuf::util::JsonStringToMessage(answer.body, out).ok();
}

// The examples' requests by method; of every other method, an empty request.
const std::vector<std::pair<std::string, std::string>>& ExampleFiles() {
  static const auto* const all =
      new std::vector<std::pair<std::string, std::string>>{{"AllocateCompute", "allocate_compute"},
                                                           {"AnalyzeOperation", "attention"},
                                                           {"BatchPlanRuns", "batch_plan_runs"},
                                                           {"CountModel", "count_model"},
                                                           {"PlanRun", "plan_run"},
                                                           {"PlanRun", "plan_run_search"},
                                                           {"SizeCluster", "size_cluster"},
                                                           {"SizeModel", "size_model"}};
  return *all;
}

std::vector<std::string> RequestsOf(const std::string& method) {
  std::vector<std::string> out = {"{}"};
  for (const auto& [name, file] : ExampleFiles()) {
    if (name != method) continue;
    out.push_back(ReadFile(absl::StrCat(SourceFolder(), "/docs/examples/", file, ".json")));
  }
  return out;
}

// Compares the call over `type` with what `handler` gave.
void ExpectSame(const FakeExchange& exchange, const Ended& handler, const Message& response,
                const std::string& what) {
  if (!handler.status.ok()) {
    EXPECT_EQ(exchange.Code(), ConnectCodeName(handler.status.code())) << what;
    EXPECT_EQ(exchange.Message(), ToRpcStatus(handler.status, "").message()) << what;
    return;
  }
  EXPECT_EQ(exchange.answer.status, 200) << what << ": " << exchange.answer.body;
  const std::unique_ptr<Message> got(response.New());
  ASSERT_TRUE(ReadAnswer(exchange.answer, got.get())) << what;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*got, response)) << what;
}

TEST(ConnectMethods, AnswerAsTheirHandlersDo) {
  AllServices services;
  int unary = 0, answered = 0;
  for (Service* service : services.all()) {
    for (Method& method : service->methods()) {
      if (!std::holds_alternative<UnaryHandler>(method.handler)) continue;
      ++unary;
      const auto* described = DescriptorPool::generated_pool()->FindMethodByName(
          absl::StrReplaceAll(method.name, {{"/", "."}}));
      for (const std::string& text : RequestsOf(described->name())) {
        const auto request = EmptyMessage(described->input_type());
        ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, request.get()).ok());
        const auto response = EmptyMessage(described->output_type());
        const Ended handler =
            services.Direct(*service, described->name(), *request, response.get());
        answered += handler.status.ok();
        ExpectSame(services.Call(method.name, "application/json", JsonIn(*request)), handler,
                   *response, absl::StrCat(method.name, " by JSON"));
        ExpectSame(services.Call(method.name, "application/proto", request->SerializeAsString()),
                   handler, *response, absl::StrCat(method.name, " by proto"));
      }
    }
  }
  // 25 methods and Health's, but for two streams.
  EXPECT_EQ(unary, 24);
  EXPECT_GE(answered, 8);
}

TEST(ConnectMethods, StreamTheAnswerThatPlanRunGives) {
  AllServices services;
  const std::string request =
      ReadFile(absl::StrCat(SourceFolder(), "/docs/examples/plan_run.json"));
  const FakeExchange stream =
      services.Call("sextant.v1.PlanningService/WatchPlanRun", "application/connect+json",
                    Enveloped(EnvelopeFlags::kMessage, request));
  const FakeExchange plan =
      services.Call("sextant.v1.PlanningService/PlanRun", "application/json", request);
  const auto envelopes = stream.Envelopes();
  ASSERT_GE(envelopes.size(), 2u);
  EXPECT_EQ(envelopes.back().second, "{}");
  EXPECT_EQ(nlohmann::json::parse(envelopes[envelopes.size() - 2].second)["answer"],
            nlohmann::json::parse(plan.answer.body));
}

TEST(ConnectMethods, LetOnlyThisHostProbeAndReport) {
  const auto access = *Access::Load({});
  AllServices services(access.get());
  FakeExchange probe =
      services.Call("sextant.v1.HardwareService/RunProbe", "application/connect+json",
                    Enveloped(EnvelopeFlags::kMessage, "{}"));
  EXPECT_EQ(probe.Code(), "permission_denied");
  EXPECT_EQ(probe.body_reads, 0);
  FakeExchange report =
      services.Call("sextant.v1.TelemetryService/ReportProgress", "application/json", "{}");
  EXPECT_EQ(report.answer.status, 403);
  EXPECT_EQ(report.body_reads, 0);
  EXPECT_EQ(services.Call("sextant.v1.HardwareService/ListNodeTypes", "application/json", "{}")
                .answer.status,
            200);
}

// A rule for the method opens it to those that it names alone.
TEST(ConnectMethods, AreOpenToThoseWhomTheRulesName) {
  const std::string tokens = TemporaryFile("tokens_of_connect");
  std::ofstream(tokens) << "scheduler 0123456789abcdef0123456789abcdef\n"
                        << "notebook fedcba9876543210fedcba9876543210\n";
  const std::string rules = TemporaryFile("rules_of_connect");
  std::ofstream(rules) << "* *\nReportProgress scheduler\n";
  const auto with_tokens = *Access::Load({.token_file = tokens});
  const auto with_rules = *Access::Load({.token_file = tokens, .access_file = rules});
  const auto code_of = [](const Access* access, const std::string& method,
                          const std::string& token) {
    AllServices services(access);
    const bool streams = method == "HardwareService/RunProbe";
    return services
        .Call(absl::StrCat("sextant.v1.", method),
              streams ? "application/connect+json" : "application/json",
              streams ? Enveloped(EnvelopeFlags::kMessage, "{}") : "{}", token)
        .Code();
  };
  const std::string scheduler = "Bearer 0123456789abcdef0123456789abcdef";
  const std::string notebook = "Bearer fedcba9876543210fedcba9876543210";
  for (const char* method : {"HardwareService/RunProbe", "TelemetryService/ReportProgress"}) {
    EXPECT_EQ(code_of(with_tokens.get(), method, ""), "unauthenticated") << method;
    EXPECT_EQ(code_of(with_tokens.get(), method, scheduler), "permission_denied") << method;
    EXPECT_EQ(code_of(with_rules.get(), method, notebook), "permission_denied") << method;
  }
  EXPECT_EQ(code_of(with_rules.get(), "HardwareService/RunProbe", scheduler), "permission_denied");
  EXPECT_EQ(code_of(with_rules.get(), "TelemetryService/ReportProgress", scheduler),
            "invalid_argument");
  EXPECT_EQ(code_of(with_rules.get(), "HardwareService/ListNodeTypes", notebook), "");
}

TEST(HealthOverConnect, AnswersAsGrpcsDoes) {
  AllServices services;
  const auto check = [&services](const std::string& body) {
    const FakeExchange exchange =
        services.Call("grpc.health.v1.Health/Check", "application/json", body);
    return exchange.answer.status == 200 ? exchange.answer.body : exchange.Code();
  };
  for (const char* known : {"{}", R"({"service":"sextant.v1.PlanningService"})"}) {
    services.serves = true;
    EXPECT_EQ(check(known), R"({"status":"SERVING"})");
    services.serves = false;
    EXPECT_EQ(check(known), R"({"status":"NOT_SERVING"})");
  }
  EXPECT_EQ(check(R"({"service":"sextant.v1.HardwareService"})"), "not_found");
  EXPECT_EQ(services
                .Call("grpc.health.v1.Health/Watch", "application/connect+json",
                      Enveloped(EnvelopeFlags::kMessage, "{}"))
                .Code(),
            "unimplemented");
}

}  // namespace
}  // namespace sextant::server
