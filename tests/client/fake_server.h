// A server in this process whose answers a test chooses.
#ifndef SEXTANT_TESTS_CLIENT_FAKE_SERVER_H_
#define SEXTANT_TESTS_CLIENT_FAKE_SERVER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/call/status.h"
#include "server/launcher/export.h"
#include "server/launcher/import.h"
#include "sextant/v1/accounting_service.grpc.pb.h"
#include "sextant/v1/hardware_service.grpc.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"
#include "tests/client/fixture.h"

namespace sextant::client {

// Answers a call as the test wants.
template <typename Request, typename Response>
using Handler = std::function<grpc::Status(grpc::ServerContext*, const Request&, Response*)>;
using PlanHandler = Handler<v1::PlanRunRequest, v1::PlanRunResponse>;
using ListHandler = Handler<v1::ListAcceleratorsRequest, v1::ListAcceleratorsResponse>;

// Files are read as the service reads them.
inline grpc::Status ImportAsServer(grpc::ServerContext*, const v1::ImportRunRequest& request,
                                   v1::ImportRunResponse* response) {
  return server::ToGrpcStatus(server::ImportRun(request, response), "");
}

// Writes runs as the service does, of `model`.
inline Handler<v1::ExportRunRequest, v1::ExportRunResponse> ExportOf(
    const server::ExportedModel& model) {
  return [model](grpc::ServerContext*, const v1::ExportRunRequest& request,
                 v1::ExportRunResponse* response) {
    absl::Status status = server::CheckExport(request, response);
    if (status.ok() && !request.check_only()) status = ExportRun(request, model, response);
    return server::ToGrpcStatus(status, "");
  };
}

// The calls of PlanningService; without a handler a method answers UNIMPLEMENTED.
struct PlanningHandlers {
  PlanHandler plan_run = {};
  Handler<v1::PlanRunRequest, grpc::ServerWriter<v1::WatchPlanRunResponse>> watch_plan_run = {};
  Handler<v1::AllocateComputeRequest, v1::AllocateComputeResponse> allocate_compute = {};
  Handler<v1::BatchPlanRunsRequest, v1::BatchPlanRunsResponse> batch_plan_runs = {};
  Handler<v1::SizeClusterRequest, v1::SizeClusterResponse> size_cluster = {};
  Handler<v1::SizeModelRequest, v1::SizeModelResponse> size_model = {};
  Handler<v1::AdmitRequest, v1::AdmitResponse> admit = {};
  Handler<v1::ImportRunRequest, v1::ImportRunResponse> import_run = ImportAsServer;
  Handler<v1::ExportRunRequest, v1::ExportRunResponse> export_run = ExportOf({});
};

// The calls of HardwareService; without a handler a method answers UNIMPLEMENTED.
struct HardwareHandlers {
  ListHandler list_accelerators = {};
  Handler<v1::ListDevicesRequest, v1::ListDevicesResponse> list_devices = {};
  Handler<v1::GetCalibrationRequest, v1::GetCalibrationResponse> get_calibration = {};
  Handler<v1::GetKernelRatesRequest, v1::GetKernelRatesResponse> get_kernel_rates = {};
  Handler<v1::ListNodeTypesRequest, v1::ListNodeTypesResponse> list_node_types = {};
  Handler<v1::GetLinkTimesRequest, v1::GetLinkTimesResponse> get_link_times = {};
  Handler<v1::RunProbeRequest, grpc::ServerWriter<v1::RunProbeResponse>> run_probe = {};
};

// The calls of AccountingService; the same.
struct AccountingHandlers {
  Handler<v1::DescribeTokensRequest, v1::DescribeTokensResponse> describe_tokens = {};
  Handler<v1::AnalyzeTensorRequest, v1::AnalyzeTensorResponse> analyze_tensor = {};
  Handler<v1::AnalyzeOperationRequest, v1::AnalyzeOperationResponse> analyze_operation = {};
  Handler<v1::AnalyzeGraphRequest, v1::AnalyzeGraphResponse> analyze_graph = {};
  Handler<v1::CountModelRequest, v1::CountModelResponse> count_model = {};
};

// Serves on a free port of 127.0.0.1 for as long as it lives. Without a handler a method
// answers UNIMPLEMENTED.
class FakeServer {
 public:
  explicit FakeServer(PlanHandler plan, ListHandler list = nullptr)
      : FakeServer(std::move(plan), HardwareHandlers{.list_accelerators = std::move(list)}) {}
  explicit FakeServer(HardwareHandlers hardware) : FakeServer(nullptr, std::move(hardware)) {}
  explicit FakeServer(AccountingHandlers accounting)
      : FakeServer(PlanningHandlers{}, HardwareHandlers{}, std::move(accounting)) {}
  FakeServer(PlanHandler plan, HardwareHandlers hardware, AccountingHandlers accounting = {})
      : FakeServer(PlanningHandlers{.plan_run = std::move(plan)}, std::move(hardware),
                   std::move(accounting)) {}
  explicit FakeServer(PlanningHandlers planning, HardwareHandlers hardware = {},
                      AccountingHandlers accounting = {})
      : planning_(std::move(planning)),
        hardware_(std::move(hardware)),
        accounting_(std::move(accounting)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&planning_);
    builder.RegisterService(&hardware_);
    builder.RegisterService(&accounting_);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }

  const std::string& address() const { return address_; }

 private:
  template <typename Request, typename Response>
  static grpc::Status Answer(const Handler<Request, Response>& handler,
                             grpc::ServerContext* context, const Request* request,
                             Response* response) {
    if (!handler) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    return handler(context, *request, response);
  }

// Defines an RPC of a service, which answers as its handler wants.
#define SEXTANT_FAKE_RPC(name, handler) \
  SEXTANT_FAKE_CALL(name, handler, v1::name##Request, v1::name##Response)
#define SEXTANT_FAKE_STREAM(name, handler, Request) \
  SEXTANT_FAKE_CALL(name, handler, Request, grpc::ServerWriter<v1::name##Response>)
#define SEXTANT_FAKE_CALL(name, handler, Request, Response)                                   \
  grpc::Status name(grpc::ServerContext* context, const Request* request, Response* response) \
      override {                                                                              \
    return Answer(handlers_.handler, context, request, response);                             \
  }

  class Planning final : public v1::PlanningService::Service {
   public:
    explicit Planning(PlanningHandlers handlers) : handlers_(std::move(handlers)) {}
    SEXTANT_FAKE_RPC(PlanRun, plan_run)
    SEXTANT_FAKE_STREAM(WatchPlanRun, watch_plan_run, v1::PlanRunRequest)
    SEXTANT_FAKE_RPC(AllocateCompute, allocate_compute)
    SEXTANT_FAKE_RPC(BatchPlanRuns, batch_plan_runs)
    SEXTANT_FAKE_RPC(SizeCluster, size_cluster)
    SEXTANT_FAKE_RPC(SizeModel, size_model)
    SEXTANT_FAKE_RPC(Admit, admit)
    SEXTANT_FAKE_RPC(ImportRun, import_run)
    SEXTANT_FAKE_RPC(ExportRun, export_run)

   private:
    PlanningHandlers handlers_;
  };

  class Hardware final : public v1::HardwareService::Service {
   public:
    explicit Hardware(HardwareHandlers handlers) : handlers_(std::move(handlers)) {}
    SEXTANT_FAKE_RPC(ListAccelerators, list_accelerators)
    SEXTANT_FAKE_RPC(ListDevices, list_devices)
    SEXTANT_FAKE_RPC(GetCalibration, get_calibration)
    SEXTANT_FAKE_RPC(GetKernelRates, get_kernel_rates)
    SEXTANT_FAKE_RPC(ListNodeTypes, list_node_types)
    SEXTANT_FAKE_RPC(GetLinkTimes, get_link_times)
    SEXTANT_FAKE_STREAM(RunProbe, run_probe, v1::RunProbeRequest)

   private:
    HardwareHandlers handlers_;
  };

  class Accounting final : public v1::AccountingService::Service {
   public:
    explicit Accounting(AccountingHandlers handlers) : handlers_(std::move(handlers)) {}
    SEXTANT_FAKE_RPC(DescribeTokens, describe_tokens)
    SEXTANT_FAKE_RPC(AnalyzeTensor, analyze_tensor)
    SEXTANT_FAKE_RPC(AnalyzeOperation, analyze_operation)
    SEXTANT_FAKE_RPC(AnalyzeGraph, analyze_graph)
    SEXTANT_FAKE_RPC(CountModel, count_model)

   private:
    AccountingHandlers handlers_;
  };
#undef SEXTANT_FAKE_RPC
#undef SEXTANT_FAKE_STREAM
#undef SEXTANT_FAKE_CALL

  Planning planning_;
  Hardware hardware_;
  Accounting accounting_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// Answers with a message or an error, and keeps the request.
template <typename Request, typename Response>
struct Answering {
  Request request = {};
  Response response = {};
  grpc::Status status = grpc::Status::OK;

  Handler<Request, Response> handler() {
    return [this](grpc::ServerContext*, const Request& got, Response* out) {
      request = got;
      *out = response;
      return status;
    };
  }
};

// A server that gives a planner's answer or error, and runs of the program that ask it.
class PlanServer {
 public:
  PlanServer() = default;
  explicit PlanServer(const v1::PlanRunResponse& answer) { plans_.response = answer; }
  explicit PlanServer(const grpc::Status& status) { plans_.status = status; }

  Ran Run(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.end(), {"--address", server_.address()});
    return RunWith(args, input);
  }
  // The last request.
  const v1::PlanRunRequest& request() const { return plans_.request; }

 private:
  Answering<v1::PlanRunRequest, v1::PlanRunResponse> plans_;
  FakeServer server_{plans_.handler()};
};

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_FAKE_SERVER_H_
