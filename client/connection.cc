#include "client/connection.h"

#include <google/protobuf/message.h>
#include <grpcpp/client_context.h>

#include "absl/strings/str_cat.h"
#include "client/call_error.h"
#include "client/channel.h"
#include "client/text_file.h"
#include "sextant/v1/accounting_service.grpc.pb.h"
#include "sextant/v1/hardware_service.grpc.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant {
namespace {

// Whether the server takes a request of this size.
grpc::Status CheckSize(const google::protobuf::Message& request) {
  const size_t size = request.ByteSizeLong();
  if (size <= kMaxRequestBytes) return grpc::Status::OK;
  return RefusalStatus("REQUEST_TOO_LARGE",
                       absl::StrCat("the request takes ", size, " bytes; the limit is 1 MiB (",
                                    kMaxRequestBytes, " bytes)"));
}

// One call of `method`, with its deadline. A request that is too large is not sent.
template <typename Service, typename Request, typename Response>
grpc::Status Call(const ServerAddress& server,
                  grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                  const Request& request, Response* response) {
  grpc::Status checked = CheckSize(request);
  if (!checked.ok()) return checked;
  grpc::ClientContext context;
  SetDeadline(server, &context);
  const auto stub = Service::NewStub(NewChannel(server));
  return (*stub.*method)(&context, request, response);
}

}  // namespace

grpc::Status ListDataTypes(const ServerAddress& server, const v1::ListDataTypesRequest& request,
                           v1::ListDataTypesResponse* response) {
  return Call<v1::AccountingService>(server, &v1::AccountingService::Stub::ListDataTypes, request,
                                     response);
}

grpc::Status DescribeDataType(const ServerAddress& server,
                              const v1::DescribeDataTypeRequest& request,
                              v1::DescribeDataTypeResponse* response) {
  return Call<v1::AccountingService>(server, &v1::AccountingService::Stub::DescribeDataType,
                                     request, response);
}

grpc::Status DescribeTokens(const ServerAddress& server, const v1::DescribeTokensRequest& request,
                            v1::DescribeTokensResponse* response) {
  return Call<v1::AccountingService>(server, &v1::AccountingService::Stub::DescribeTokens, request,
                                     response);
}

grpc::Status AnalyzeTensor(const ServerAddress& server, const v1::AnalyzeTensorRequest& request,
                           v1::AnalyzeTensorResponse* response) {
  return Call<v1::AccountingService>(server, &v1::AccountingService::Stub::AnalyzeTensor, request,
                                     response);
}

grpc::Status AnalyzeOperation(const ServerAddress& server,
                              const v1::AnalyzeOperationRequest& request,
                              v1::AnalyzeOperationResponse* response) {
  return Call<v1::AccountingService>(server, &v1::AccountingService::Stub::AnalyzeOperation,
                                     request, response);
}

grpc::Status AnalyzeGraph(const ServerAddress& server, const v1::AnalyzeGraphRequest& request,
                          v1::AnalyzeGraphResponse* response) {
  return Call<v1::AccountingService>(server, &v1::AccountingService::Stub::AnalyzeGraph, request,
                                     response);
}

grpc::Status CountModel(const ServerAddress& server, const v1::CountModelRequest& request,
                        v1::CountModelResponse* response) {
  return Call<v1::AccountingService>(server, &v1::AccountingService::Stub::CountModel, request,
                                     response);
}

grpc::Status PlanRun(const ServerAddress& server, const v1::PlanRunRequest& request,
                     v1::PlanRunResponse* response) {
  return Call<v1::PlanningService>(server, &v1::PlanningService::Stub::PlanRun, request, response);
}

grpc::Status ListAccelerators(const ServerAddress& server,
                              const v1::ListAcceleratorsRequest& request,
                              v1::ListAcceleratorsResponse* response) {
  return Call<v1::HardwareService>(server, &v1::HardwareService::Stub::ListAccelerators, request,
                                   response);
}

grpc::Status ListDevices(const ServerAddress& server, const v1::ListDevicesRequest& request,
                         v1::ListDevicesResponse* response) {
  return Call<v1::HardwareService>(server, &v1::HardwareService::Stub::ListDevices, request,
                                   response);
}

grpc::Status GetKernelRates(const ServerAddress& server, const v1::GetKernelRatesRequest& request,
                            v1::GetKernelRatesResponse* response) {
  return Call<v1::HardwareService>(server, &v1::HardwareService::Stub::GetKernelRates, request,
                                   response);
}

grpc::Status ListNodeTypes(const ServerAddress& server, const v1::ListNodeTypesRequest& request,
                           v1::ListNodeTypesResponse* response) {
  return Call<v1::HardwareService>(server, &v1::HardwareService::Stub::ListNodeTypes, request,
                                   response);
}

grpc::Status GetLinkTimes(const ServerAddress& server, const v1::GetLinkTimesRequest& request,
                          v1::GetLinkTimesResponse* response) {
  return Call<v1::HardwareService>(server, &v1::HardwareService::Stub::GetLinkTimes, request,
                                   response);
}

grpc::Status GetCalibration(const ServerAddress& server, const v1::GetCalibrationRequest& request,
                            v1::GetCalibrationResponse* response) {
  return Call<v1::HardwareService>(server, &v1::HardwareService::Stub::GetCalibration, request,
                                   response);
}

}  // namespace sextant
