// The server over its ports, on loopback.
#include "server/server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>

#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
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
  EXPECT_EQ(all.accelerators_size(), 47);
  request.set_name("H200 SXM");
  v1::ListAcceleratorsResponse one;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(server.hardware().ListAccelerators(&context, request, &one).ok());
  }
  ASSERT_EQ(one.accelerators_size(), 1);
  EXPECT_EQ(one.accelerators(0).name(), "h200-sxm");
  request.set_name("h300");
  v1::ListAcceleratorsResponse none;
  grpc::ClientContext context;
  const grpc::Status status = server.hardware().ListAccelerators(&context, request, &none);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("h100-sxm"));
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
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::StatusCode> code;
  stub.UnaryCall(&context, method, {}, &request, &response,
                 [&code](const grpc::Status& status) { code.set_value(status.error_code()); });
  return code.get_future().get();
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

}  // namespace
}  // namespace sextant::server
