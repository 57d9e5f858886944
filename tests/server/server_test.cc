// The server over its ports, on loopback.
#include "server/server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/listen/http_server.h"
#include "server/options.h"
#include "tests/server/json_call.h"
#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Server, PlansARun) {
  const TestServer server;
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(TestServer::GoodRequest(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.plan().verdict(), v1::VERDICT_STATE_FITS);
  EXPECT_EQ(response.plan().parameters().total(), 70'553'706'496);
  EXPECT_EQ(response.engine_version(), "0.1.0");
  EXPECT_EQ(response.rates_fingerprint().size(), 16u);
}

// The same version, request and rates give the same bytes, from any replica.
TEST(Server, AnswersAlikeEveryTimeAndEverywhere) {
  const TestServer one;
  const TestServer two;
  v1::PlanRunRequest request = TestServer::GoodRequest();
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  request.mutable_options()->set_include_derivation(true);
  v1::PlanRunResponse first;
  ASSERT_TRUE(one.PlanRun(request, &first).ok());
  for (const TestServer* server : {&one, &two, &one}) {
    v1::PlanRunResponse again;
    ASSERT_TRUE(server->PlanRun(request, &again).ok());
    EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  }
}

TEST(Server, RefusesWithReasonFieldsAndTrace) {
  const TestServer server;
  v1::PlanRunRequest request = TestServer::GoodRequest();
  request.mutable_training()->set_token_count(-5);
  request.mutable_model()->mutable_transformer()->set_head_size(0);
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  v1::PlanRunResponse response;
  const grpc::Status status = server.planning().PlanRun(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto info = DetailOf<google::rpc::ErrorInfo>(status);
  EXPECT_EQ(info.reason(), "FIELD_INVALID");
  EXPECT_EQ(info.metadata().at("trace_id"), "4bf92f3577b34da6a3ce929d0e0e4736");
  // The violations of the wire, of the model given twice, of its empty transformer and of the
  // tokens come together.
  for (const char* field : {"model.transformer.head_size: ", "model: ",
                            "model.transformer.layer_count: ", "training.token_count: "}) {
    EXPECT_THAT(FaultsOf(status), Contains(StartsWith(field)));
  }
}

TEST(Server, ListsAccelerators) {
  const TestServer server;
  v1::ListAcceleratorsRequest request;
  v1::ListAcceleratorsResponse all;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(server.hardware().ListAccelerators(&context, request, &all).ok());
  }
  EXPECT_EQ(all.accelerators_size(), 52);
  request.set_name("H200 SXM");
  v1::ListAcceleratorsResponse one;
  grpc::ClientContext context;
  ASSERT_TRUE(server.hardware().ListAccelerators(&context, request, &one).ok());
  ASSERT_EQ(one.accelerators_size(), 1);
  EXPECT_EQ(one.accelerators(0).name(), "h200-sxm");
}

// Two servers on one port would silently share its calls.
TEST(Server, WillNotShareAPort) {
  const TestServer server;
  ServerOptions options = TestServer::Options();
  options.listen = {server.server().grpc_addresses()[0]};
  const auto second = Server::Start(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  options = TestServer::Options();
  options.http_listen = server.server().http_address();
  const auto third = Server::Start(options);
  EXPECT_EQ(third.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("--http_listen"));
}

TEST(Server, ServesAUnixSocket) {
  ServerOptions options = TestServer::Options();
  options.listen = {"unix:" + TemporaryFile("socket")};
  options.http_listen = "none";
  const TestServer server(options);
  v1::PlanRunResponse response;
  EXPECT_TRUE(server.PlanRun(TestServer::GoodRequest(), &response).ok());
  EXPECT_EQ(server.server().http_address(), "");
}

// gRPC would take the socket over, and unlink it when the second server stops.
TEST(Server, WillNotTakeOverAUnixSocket) {
  ServerOptions options = TestServer::Options();
  options.listen = {"unix:" + TemporaryFile("taken_socket")};
  options.http_listen = "none";
  const TestServer first(options);
  const auto second = Server::Start(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another server does"));
  v1::PlanRunResponse response;
  EXPECT_TRUE(first.PlanRun(TestServer::GoodRequest(), &response).ok());
}

grpc::StatusCode CodeOf(const std::string& address, const std::string& method) {
  grpc::ByteBuffer answer;
  return CallBytes(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()), method, "",
                   &answer)
      .error_code();
}

// Who calls is for the server's own host, not for all that may plan.
TEST(Server, ShowsItsConnectionsOnAPortOfTheirOwn) {
  ServerOptions options = TestServer::Options();
  options.channelz_listen = "127.0.0.1:0";
  const TestServer server(options);
  const std::string method = "/grpc.channelz.v1.Channelz/GetServers";
  EXPECT_EQ(CodeOf(server.server().channelz_address(), method), grpc::StatusCode::OK);
  EXPECT_EQ(CodeOf(server.server().grpc_addresses()[0], method), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(Server, LogsACallBeforeItAnswers) {
  ServerOptions options = TestServer::Options();
  options.log_calls = CallLogLevel::kAll;
  const TestServer server(options);
  // Logged on the probe's thread. A line written too late may still be in time now and then.
  for (int i = 0; i < 200; ++i) {
    ::testing::internal::CaptureStderr();
    grpc::ClientContext context;
    v1::ListDevicesResponse response;
    EXPECT_FALSE(server.hardware().ListDevices(&context, {}, &response).ok());
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("/ListDevices"));
  }
}

TEST(Server, RefusesCallsOnceDrained) {
  TestServer server;
  server.server().Drain();
  v1::PlanRunResponse response;
  EXPECT_EQ(server.PlanRun(TestServer::GoodRequest(), &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

httplib::Client ClientOf(const TestServer& server) {
  return httplib::Client("http://" + server.server().http_address());
}

TEST(Http, ServesAnIndexHealthAndReadiness) {
  const TestServer server;
  auto client = ClientOf(server);
  const auto index = client.Get("/");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->status, 200);
  EXPECT_THAT(index->body, HasSubstr("sextantd 0.1.0"));
  EXPECT_THAT(index->get_header_value("Content-Type"), StartsWith("text/html"));
  EXPECT_EQ(client.Get("/healthz")->status, 200);
  EXPECT_EQ(client.Get("/readyz")->status, 200);
  EXPECT_EQ(client.Get("/nothing")->status, 404);
}

TEST(Http, ReadinessFollowsTheServer) {
  bool ready = false;
  auto http = HttpServer::Start({.address = "127.0.0.1:0",
                                 .max_connections = 8,
                                 .ready = [&] { return ready; },
                                 .registry = std::make_shared<prometheus::Registry>()});
  ASSERT_TRUE(http.ok()) << http.status();
  httplib::Client client("http://" + (*http)->address());
  EXPECT_EQ(client.Get("/readyz")->status, 503);
  ready = true;
  EXPECT_EQ(client.Get("/readyz")->status, 200);
}

// A scrape after one good plan, one that does not fit and one bad request.
TEST(Metrics, CountCallsVerdictsAndTime) {
  const TestServer server;
  v1::PlanRunResponse response;
  ASSERT_TRUE(server.PlanRun(TestServer::GoodRequest(), &response).ok());
  v1::PlanRunRequest small = TestServer::GoodRequest();
  small.mutable_cluster()->set_device_count(1);
  ASSERT_TRUE(server.PlanRun(small, &response).ok());
  EXPECT_FALSE(server.PlanRun(v1::PlanRunRequest(), &response).ok());

  const auto scrape = ClientOf(server).Get("/metrics");
  ASSERT_TRUE(scrape);
  EXPECT_EQ(scrape->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  const std::string method = "method=\"sextant.v1.PlanningService/PlanRun\",protocol=\"grpc\"";
  for (const std::string& line :
       {"sextant_calls_total{code=\"OK\"," + method + "} 2\n",
        "sextant_calls_total{code=\"INVALID_ARGUMENT\"," + method + "} 1\n",
        "sextant_call_duration_seconds_count{" + method + "} 3\n",
        std::string("sextant_plan_verdicts_total{verdict=\"state_fits\"} 1\n"),
        std::string("sextant_plan_verdicts_total{verdict=\"does_not_fit\"} 1\n"),
        std::string("sextant_layouts_considered_total 2\n"),
        std::string("sextant_plans_in_flight 0\n"),
        std::string("sextant_build_info{version=\"0.1.0\"} 1\n"),
        std::string("# HELP sextant_calls_total Calls answered, by method, gRPC status "
                    "code and protocol.\n")}) {
    EXPECT_THAT(scrape->body, HasSubstr(line));
  }
  EXPECT_THAT(scrape->body, Not(HasSubstr("Nan")));
  EXPECT_THAT(scrape->body, Not(HasSubstr("verdict=\"fits\"")));
}

// The lines of a scrape that are series.
std::vector<std::string> SeriesOf(const TestServer& server) {
  const std::string text = ClientOf(server).Get("/metrics")->body;
  std::vector<std::string> out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty() && line[0] != '#') out.emplace_back(line);
  }
  return out;
}

// A fleet has a server on every host, and most never answer a call.
TEST(Metrics, OfAnIdleServerAreFewerThanSixty) {
  const TestServer server;
  const std::vector<std::string> idle = SeriesOf(server);
  EXPECT_THAT(idle, Contains("sextant_build_info{version=\"0.1.0\"} 1"));
  EXPECT_LT(idle.size(), 60u);
}

// A method that is called has a series for each code that it gave, six buckets and the infinite
// one, a sum and a count.
TEST(Metrics, OfAMethodAppearWithItsFirstCall) {
  const TestServer server;
  const size_t idle = SeriesOf(server).size();
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::ListNodeTypesResponse response;
    ASSERT_TRUE(server.hardware().ListNodeTypes(&context, {}, &response).ok());
  }
  const std::vector<std::string> used = SeriesOf(server);
  EXPECT_EQ(used.size(), idle + 1 + 7 + 2);
  EXPECT_THAT(used, Contains("sextant_calls_total{code=\"OK\",method=\"sextant.v1."
                             "HardwareService/ListNodeTypes\",protocol=\"grpc\"} 3"));
}

// Lists and single plans, bounded searches, and longer questions wait for different threads.
TEST(Metrics, OfWaitsAreByPool) {
  const TestServer server;
  EXPECT_THAT(SeriesOf(server), Contains("sextant_calls_waiting{pool=\"searches\"} 0"));
  grpc::ClientContext to_list;
  v1::ListModelsResponse listed;
  ASSERT_TRUE(server.accounting().ListModels(&to_list, {}, &listed).ok());
  v1::PlanRunRequest request = TestServer::GoodRequest();
  request.mutable_training()->set_sequence_length(8192);
  request.mutable_cluster()->set_node_type("dgx-h100");
  request.mutable_layout()->set_global_batch_size(1024);
  request.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  v1::PlanRunResponse response;
  const grpc::Status searched = server.PlanRun(request, &response);
  ASSERT_TRUE(searched.ok()) << searched.error_message();
  grpc::ClientContext to_plan;
  v1::BatchPlanRunsRequest batch;
  *batch.add_runs() = request;
  v1::BatchPlanRunsResponse planned;
  ASSERT_TRUE(server.planning().BatchPlanRuns(&to_plan, batch, &planned).ok());
  EXPECT_THAT(SeriesOf(server),
              IsSupersetOf({"sextant_call_wait_seconds_count{pool=\"plans\"} 1",
                            "sextant_call_wait_seconds_count{pool=\"searches\"} 1",
                            "sextant_call_wait_seconds_count{pool=\"short_searches\"} 1"}));
}

// All threads get one series, whoever is first.
TEST(CallMetrics, AreCountedByManyThreadsFromTheFirstCallOn) {
  prometheus::Registry registry;
  Metrics metrics(registry);
  CallMetrics calls = metrics.ForMethod("Service/Method");
  constexpr int kThreads = 4;
  constexpr int kCalls = 1000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&calls] {
      for (int call = 0; call < kCalls; ++call)
        calls.Record(Protocol::kGrpc, absl::StatusCode::kOk, 0.002);
    });
  }
  for (std::thread& thread : threads) thread.join();
  calls.Record(Protocol::kGrpc, absl::StatusCode::kNotFound, 20);
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  for (const char* line :
       {"sextant_calls_total{code=\"OK\",method=\"Service/Method\",protocol=\"grpc\"} 4000\n",
        "sextant_calls_total{code=\"NOT_FOUND\",method=\"Service/Method\",protocol=\"grpc\"} 1\n",
        "sextant_call_duration_seconds_bucket{method=\"Service/"
        "Method\",protocol=\"grpc\",le=\"0.001\"} 0\n",
        "sextant_call_duration_seconds_bucket{method=\"Service/"
        "Method\",protocol=\"grpc\",le=\"0.005\"} 4000\n",
        "sextant_call_duration_seconds_bucket{method=\"Service/"
        "Method\",protocol=\"grpc\",le=\"10\"} 4000\n",
        "sextant_call_duration_seconds_bucket{method=\"Service/"
        "Method\",protocol=\"grpc\",le=\"+Inf\"} "
        "4001\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace sextant::server
