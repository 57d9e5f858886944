// A server for one test, and stubs that call it.
#ifndef SEXTANT_TESTS_SERVER_TEST_SERVER_H_
#define SEXTANT_TESTS_SERVER_TEST_SERVER_H_

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "server/server.h"
#include "sextant/v1/accounting_service.grpc.pb.h"
#include "sextant/v1/hardware_service.grpc.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"
#include "sextant/v1/telemetry_service.grpc.pb.h"

namespace sextant::server {

class TestServer {
 public:
  // Free loopback ports, no log, no delay when drained, no probe, no folder.
  static ServerOptions Options() {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.http_listen = "127.0.0.1:0";
    options.log_calls = CallLogLevel::kNone;
    options.drain_announce_seconds = 0;
    options.drain_grace_seconds = 1;
    options.probe_program = "/nowhere/sextant-probe";
    options.calibration_directory = "none";
    return options;
  }

  static v1::PlanRunRequest GoodRequest() {
    v1::PlanRunRequest request;
    request.mutable_model()->set_preset("llama-3.1-70b");
    request.mutable_training()->set_token_count(15'000'000'000'000);
    request.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
    request.mutable_cluster()->set_device_count(1024);
    return request;
  }

  explicit TestServer(const ServerOptions& options = Options()) {
    auto started = Server::Start(options);
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = std::move(*started);
    channel_ =
        grpc::CreateChannel(server_->grpc_addresses()[0], grpc::InsecureChannelCredentials());
    planning_ = v1::PlanningService::NewStub(channel_);
    hardware_ = v1::HardwareService::NewStub(channel_);
    accounting_ = v1::AccountingService::NewStub(channel_);
    telemetry_ = v1::TelemetryService::NewStub(channel_);
  }

  Server& server() { return *server_; }
  const Server& server() const { return *server_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  v1::PlanningService::Stub& planning() const { return *planning_; }
  v1::HardwareService::Stub& hardware() const { return *hardware_; }
  v1::AccountingService::Stub& accounting() const { return *accounting_; }
  v1::TelemetryService::Stub& telemetry() const { return *telemetry_; }

  grpc::Status PlanRun(const v1::PlanRunRequest& request, v1::PlanRunResponse* response) const {
    grpc::ClientContext context;
    return planning_->PlanRun(&context, request, response);
  }

 private:
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PlanningService::Stub> planning_;
  std::unique_ptr<v1::HardwareService::Stub> hardware_;
  std::unique_ptr<v1::AccountingService::Stub> accounting_;
  std::unique_ptr<v1::TelemetryService::Stub> telemetry_;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_TEST_SERVER_H_
