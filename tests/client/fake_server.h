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

// The calls of PlanningService; without a handler a method answers UNIMPLEMENTED.
struct PlanningHandlers {
  PlanHandler plan_run = {};
  Handler<v1::PlanRunRequest, grpc::ServerWriter<v1::WatchPlanRunResponse>> watch_plan_run = {};
  Handler<v1::AllocateComputeRequest, v1::AllocateComputeResponse> allocate_compute = {};
  Handler<v1::BatchPlanRunsRequest, v1::BatchPlanRunsResponse> batch_plan_runs = {};
  Handler<v1::SizeClusterRequest, v1::SizeClusterResponse> size_cluster = {};
  Handler<v1::SizeModelRequest, v1::SizeModelResponse> size_model = {};
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

  class Planning final : public v1::PlanningService::Service {
   public:
    explicit Planning(PlanningHandlers handlers) : handlers_(std::move(handlers)) {}
    grpc::Status PlanRun(grpc::ServerContext* context, const v1::PlanRunRequest* request,
                         v1::PlanRunResponse* response) override {
      return Answer(handlers_.plan_run, context, request, response);
    }
    grpc::Status WatchPlanRun(grpc::ServerContext* context, const v1::PlanRunRequest* request,
                              grpc::ServerWriter<v1::WatchPlanRunResponse>* writer) override {
      return Answer(handlers_.watch_plan_run, context, request, writer);
    }
    grpc::Status AllocateCompute(grpc::ServerContext* context,
                                 const v1::AllocateComputeRequest* request,
                                 v1::AllocateComputeResponse* response) override {
      return Answer(handlers_.allocate_compute, context, request, response);
    }
    grpc::Status BatchPlanRuns(grpc::ServerContext* context,
                               const v1::BatchPlanRunsRequest* request,
                               v1::BatchPlanRunsResponse* response) override {
      return Answer(handlers_.batch_plan_runs, context, request, response);
    }
    grpc::Status SizeCluster(grpc::ServerContext* context, const v1::SizeClusterRequest* request,
                             v1::SizeClusterResponse* response) override {
      return Answer(handlers_.size_cluster, context, request, response);
    }
    grpc::Status SizeModel(grpc::ServerContext* context, const v1::SizeModelRequest* request,
                           v1::SizeModelResponse* response) override {
      return Answer(handlers_.size_model, context, request, response);
    }

   private:
    PlanningHandlers handlers_;
  };

  class Hardware final : public v1::HardwareService::Service {
   public:
    explicit Hardware(HardwareHandlers handlers) : handlers_(std::move(handlers)) {}
    grpc::Status ListAccelerators(grpc::ServerContext* context,
                                  const v1::ListAcceleratorsRequest* request,
                                  v1::ListAcceleratorsResponse* response) override {
      return Answer(handlers_.list_accelerators, context, request, response);
    }
    grpc::Status ListDevices(grpc::ServerContext* context, const v1::ListDevicesRequest* request,
                             v1::ListDevicesResponse* response) override {
      return Answer(handlers_.list_devices, context, request, response);
    }
    grpc::Status GetCalibration(grpc::ServerContext* context,
                                const v1::GetCalibrationRequest* request,
                                v1::GetCalibrationResponse* response) override {
      return Answer(handlers_.get_calibration, context, request, response);
    }
    grpc::Status GetKernelRates(grpc::ServerContext* context,
                                const v1::GetKernelRatesRequest* request,
                                v1::GetKernelRatesResponse* response) override {
      return Answer(handlers_.get_kernel_rates, context, request, response);
    }
    grpc::Status ListNodeTypes(grpc::ServerContext* context,
                               const v1::ListNodeTypesRequest* request,
                               v1::ListNodeTypesResponse* response) override {
      return Answer(handlers_.list_node_types, context, request, response);
    }
    grpc::Status GetLinkTimes(grpc::ServerContext* context, const v1::GetLinkTimesRequest* request,
                              v1::GetLinkTimesResponse* response) override {
      return Answer(handlers_.get_link_times, context, request, response);
    }
    grpc::Status RunProbe(grpc::ServerContext* context, const v1::RunProbeRequest* request,
                          grpc::ServerWriter<v1::RunProbeResponse>* writer) override {
      return Answer(handlers_.run_probe, context, request, writer);
    }

   private:
    HardwareHandlers handlers_;
  };

  class Accounting final : public v1::AccountingService::Service {
   public:
    explicit Accounting(AccountingHandlers handlers) : handlers_(std::move(handlers)) {}
    grpc::Status DescribeTokens(grpc::ServerContext* context,
                                const v1::DescribeTokensRequest* request,
                                v1::DescribeTokensResponse* response) override {
      return Answer(handlers_.describe_tokens, context, request, response);
    }
    grpc::Status AnalyzeTensor(grpc::ServerContext* context,
                               const v1::AnalyzeTensorRequest* request,
                               v1::AnalyzeTensorResponse* response) override {
      return Answer(handlers_.analyze_tensor, context, request, response);
    }
    grpc::Status AnalyzeOperation(grpc::ServerContext* context,
                                  const v1::AnalyzeOperationRequest* request,
                                  v1::AnalyzeOperationResponse* response) override {
      return Answer(handlers_.analyze_operation, context, request, response);
    }
    grpc::Status AnalyzeGraph(grpc::ServerContext* context, const v1::AnalyzeGraphRequest* request,
                              v1::AnalyzeGraphResponse* response) override {
      return Answer(handlers_.analyze_graph, context, request, response);
    }
    grpc::Status CountModel(grpc::ServerContext* context, const v1::CountModelRequest* request,
                            v1::CountModelResponse* response) override {
      return Answer(handlers_.count_model, context, request, response);
    }

   private:
    AccountingHandlers handlers_;
  };

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
