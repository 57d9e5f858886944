// A PlanningService with given devices.
#ifndef SEXTANT_TESTS_SERVER_PLANNING_SERVER_H_
#define SEXTANT_TESTS_SERVER_PLANNING_SERVER_H_

#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/call/grpc_service.h"
#include "server/convert/calibration.h"
#include "server/handler/planning_service.h"
#include "sextant/v1/planning_service.grpc.pb.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {

inline constexpr int64_t kMeasured = 1'769'860'800;  // SampleCalibration()'s

// Consecutive calibrations of one device are of different modes.
inline CalibrationSnapshot SnapshotOf(const std::vector<v1::Calibration>& calibrations) {
  CalibrationSnapshot out;
  for (const v1::Calibration& c : calibrations) {
    if (!out.devices.empty() && out.devices.back().uuid() == c.device().uuid()) {
      out.calibrations.back().by_mode.push_back(StoredFrom(c));
      continue;
    }
    out.devices.push_back(c.device());
    out.calibrations.push_back({.device = c.device(), .by_mode = {StoredFrom(c)}});
  }
  return out;
}

// A service that knows `snapshot`, an hour after the sample was measured.
class PlanningServer {
 public:
  explicit PlanningServer(
      CalibrationSnapshot snapshot,
      std::function<absl::Time()> now = [] { return absl::FromUnixSeconds(kMeasured + 3600); })
      : snapshot_(std::make_shared<const CalibrationSnapshot>(std::move(snapshot))),
        metrics_(registry_),
        service_(metrics_, {.calls = {},
                            .calibrations = [this] { return snapshot_; },
                            .now = std::move(now),
                            .supplied = &supplied_,
                            .workers = &workers_,
                            .short_searches = &searches_,
                            .searches = &searches_}) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&grpc_service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::PlanningService::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                             grpc::InsecureChannelCredentials()));
  }
  ~PlanningServer() { server_->Shutdown(); }

  // The one thread that evaluates layouts.
  WorkerPool& workers() { return workers_; }
  // The one that searches.
  WorkerPool& searches() { return searches_; }

  grpc::Status PlanRun(const v1::PlanRunRequest& request, v1::PlanRunResponse* response,
                       double timeout_seconds = 60) const {
    return Call(&v1::PlanningService::Stub::PlanRun, request, response, timeout_seconds);
  }

  // Calls `method`, e.g. &v1::PlanningService::Stub::SizeModel.
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::PlanningService::Stub::*method)(grpc::ClientContext*,
                                                                      const Request&, Response*),
                    const Request& request, Response* response, double timeout_seconds = 60) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(static_cast<int>(1000 * timeout_seconds)));
    return (stub_.get()->*method)(&context, request, response);
  }

  // The answer to `request`, which is a good one.
  v1::PlanRunResponse Planned(const v1::PlanRunRequest& request) const {
    v1::PlanRunResponse out;
    const grpc::Status status = PlanRun(request, &out);
    EXPECT_TRUE(status.ok()) << status.error_code() << " " << status.error_message();
    return out;
  }

  // The refusal of `request`, which is a bad one.
  grpc::Status Refused(const v1::PlanRunRequest& request) const {
    v1::PlanRunResponse out;
    grpc::Status status = PlanRun(request, &out);
    EXPECT_FALSE(status.ok());
    return status;
  }

  // All messages of a plan that is watched.
  grpc::Status WatchPlanRun(const v1::PlanRunRequest& request,
                            std::vector<v1::WatchPlanRunResponse>* events) const {
    grpc::ClientContext context;
    const auto reader = stub_->WatchPlanRun(&context, request);
    for (v1::WatchPlanRunResponse event; reader->Read(&event);) events->push_back(event);
    return reader->Finish();
  }

 private:
  const std::shared_ptr<const CalibrationSnapshot> snapshot_;
  prometheus::Registry registry_;
  Metrics metrics_;
  SuppliedCalibrations supplied_;
  WorkerPool workers_{WorkerPoolOptions{.threads = 1}};
  WorkerPool searches_{WorkerPoolOptions{.threads = 1, .max_paused = 4}};
  PlanningService service_;
  GrpcService grpc_service_{service_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::PlanningService::Stub> stub_;
};

// Llama-3.1-8B on that many H100s of DGX servers, of 10^12 tokens in sequences of 8,192.
inline v1::PlanRunRequest Llama8b(int64_t device_count) {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset("llama-3.1-8b");
  out.mutable_training()->set_token_count(1'000'000'000'000);
  out.mutable_training()->set_sequence_length(8192);
  out.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  out.mutable_cluster()->set_device_count(device_count);
  out.mutable_cluster()->set_node_type("dgx-h100");
  return out;
}

inline PlanningServer WithSample() { return PlanningServer(SnapshotOf({SampleCalibration()})); }

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_PLANNING_SERVER_H_
