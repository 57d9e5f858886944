#include "server/metrics/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <string>

#include "server/options.h"
#include "tests/server/test_server.h"

namespace sextant::server {
namespace {

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
        std::string("sextant_plan_verdicts_total{verdict=\"fits\"} 0\n"),
        std::string("sextant_plan_verdicts_total{verdict=\"state_fits\"} 1\n"),
        std::string("sextant_plan_verdicts_total{verdict=\"tight\"} 0\n"),
        std::string("sextant_plan_verdicts_total{verdict=\"does_not_fit\"} 1\n"),
        std::string("sextant_layouts_considered_total 2\n"),
        std::string("sextant_plans_in_flight 0\n"),
        std::string("sextant_build_info{version=\"0.1.0\"} 1\n"),
        std::string("# HELP sextant_grpc_calls_total Calls answered, by method and gRPC status "
                    "code.\n")}) {
    EXPECT_THAT(scrape->body, HasSubstr(line));
  }
  EXPECT_THAT(scrape->body, Not(HasSubstr("Nan")));
}

}  // namespace
}  // namespace sextant::server
