// The API on the HTTP port of a whole server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "server/connect/connect_call.h"
#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

httplib::Result Post(const TestServer& server, const std::string& method, const std::string& body,
                     const std::string& type = "application/json") {
  httplib::Client client("http://" + server.server().http_address());
  client.set_read_timeout(60);
  return client.Post("/" + method, body, type);
}

std::string CodeIn(const httplib::Result& answer) {
  return nlohmann::json::parse(answer->body).value("code", "");
}

// A search of seconds.
v1::PlanRunRequest LongRun() {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset("deepseek-v3");
  out.mutable_training()->set_token_count(14'000'000'000'000);
  out.mutable_training()->set_sequence_length(4096);
  out.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  out.mutable_cluster()->set_device_count(2048);
  out.mutable_cluster()->set_node_type("dgx-h100");
  out.mutable_layout()->set_global_batch_size(15'360);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  return out;
}

TEST(ConnectOnTheHttpPort, AnswersUntilTheServerDrains) {
  TestServer server;
  const std::string plan = "sextant.v1.PlanningService/PlanRun";
  const std::string health = "grpc.health.v1.Health/Check";
  const auto planned = Post(server, plan, JsonOf(TestServer::GoodRequest()));
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->status, 200);
  EXPECT_THAT(planned->body, HasSubstr("VERDICT_STATE_FITS"));
  EXPECT_EQ(Post(server, health, "{}")->body, R"({"status":"SERVING"})");
  server.server().Drain();
  EXPECT_EQ(CodeIn(Post(server, plan, "{}")), "unavailable");
  EXPECT_EQ(Post(server, health, "{}")->body, R"({"status":"NOT_SERVING"})");
}

TEST(ConnectOnTheHttpPort, EndsTheCallsThatOutlastTheGrace) {
  ServerOptions options = TestServer::Options();
  options.drain_grace_seconds = 0;
  TestServer server(options);
  const auto call = [&server](const std::string& method, const std::string& body,
                              const std::string& type) {
    return std::async(std::launch::async,
                      [&server, method, body, type] { return Post(server, method, body, type); });
  };
  const std::string request = JsonOf(LongRun());
  auto unary = call("sextant.v1.PlanningService/PlanRun", request, "application/json");
  auto stream = call("sextant.v1.PlanningService/WatchPlanRun",
                     Enveloped(EnvelopeFlags::kMessage, request), "application/connect+json");
  httplib::Client metrics("http://" + server.server().http_address());
  while (metrics.Get("/metrics")->body.find("sextant_plans_in_flight 2\n") == std::string::npos) {
    std::this_thread::yield();
  }
  server.server().Drain();
  const auto answer = unary.get();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(CodeIn(answer), "unavailable");
  const auto streamed = stream.get();
  ASSERT_TRUE(streamed);
  EXPECT_EQ(streamed->status, 200);
  EXPECT_THAT(streamed->body, HasSubstr(R"({"error":{"code":"unavailable")"));
}

}  // namespace
}  // namespace sextant::server
