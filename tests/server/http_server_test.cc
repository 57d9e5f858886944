#include "server/listen/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/options.h"
#include "tests/server/test_server.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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
  const std::string method = "method=\"sextant.v1.PlanningService/PlanRun\"";
  for (const std::string& line :
       {"sextant_grpc_calls_total{code=\"OK\"," + method + "} 2\n",
        "sextant_grpc_calls_total{code=\"INVALID_ARGUMENT\"," + method + "} 1\n",
        "sextant_grpc_call_duration_seconds_count{" + method + "} 3\n",
        std::string("sextant_plan_verdicts_total{verdict=\"state_fits\"} 1\n"),
        std::string("sextant_plan_verdicts_total{verdict=\"does_not_fit\"} 1\n"),
        std::string("sextant_layouts_considered_total 2\n"),
        std::string("sextant_plans_in_flight 0\n"),
        std::string("sextant_build_info{version=\"0.1.0\"} 1\n"),
        std::string("# HELP sextant_grpc_calls_total Calls answered, by method and gRPC status "
                    "code.\n")}) {
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
  EXPECT_THAT(used, Contains("sextant_grpc_calls_total{code=\"OK\",method=\"sextant.v1."
                             "HardwareService/ListNodeTypes\"} 3"));
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
      for (int call = 0; call < kCalls; ++call) calls.Record(grpc::StatusCode::OK, 0.002);
    });
  }
  for (std::thread& thread : threads) thread.join();
  calls.Record(grpc::StatusCode::NOT_FOUND, 20);
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  for (const char* line :
       {"sextant_grpc_calls_total{code=\"OK\",method=\"Service/Method\"} 4000\n",
        "sextant_grpc_calls_total{code=\"NOT_FOUND\",method=\"Service/Method\"} 1\n",
        "sextant_grpc_call_duration_seconds_bucket{method=\"Service/Method\",le=\"0.001\"} 0\n",
        "sextant_grpc_call_duration_seconds_bucket{method=\"Service/Method\",le=\"0.005\"} 4000\n",
        "sextant_grpc_call_duration_seconds_bucket{method=\"Service/Method\",le=\"10\"} 4000\n",
        "sextant_grpc_call_duration_seconds_bucket{method=\"Service/Method\",le=\"+Inf\"} "
        "4001\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace sextant::server
