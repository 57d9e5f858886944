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

}  // namespace

grpc::Status ListDataTypes(const ServerAddress& server, const v1::ListDataTypesRequest& request,
                           v1::ListDataTypesResponse* response) {
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::AccountingService::NewStub(NewChannel(server))
      ->ListDataTypes(&context, request, response);
}

grpc::Status DescribeDataType(const ServerAddress& server,
                              const v1::DescribeDataTypeRequest& request,
                              v1::DescribeDataTypeResponse* response) {
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::AccountingService::NewStub(NewChannel(server))
      ->DescribeDataType(&context, request, response);
}

grpc::Status DescribeTokens(const ServerAddress& server, const v1::DescribeTokensRequest& request,
                            v1::DescribeTokensResponse* response) {
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::AccountingService::NewStub(NewChannel(server))
      ->DescribeTokens(&context, request, response);
}

grpc::Status AnalyzeTensor(const ServerAddress& server, const v1::AnalyzeTensorRequest& request,
                           v1::AnalyzeTensorResponse* response) {
  grpc::Status checked = CheckSize(request);
  if (!checked.ok()) return checked;
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::AccountingService::NewStub(NewChannel(server))
      ->AnalyzeTensor(&context, request, response);
}

grpc::Status AnalyzeOperation(const ServerAddress& server,
                              const v1::AnalyzeOperationRequest& request,
                              v1::AnalyzeOperationResponse* response) {
  grpc::Status checked = CheckSize(request);
  if (!checked.ok()) return checked;
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::AccountingService::NewStub(NewChannel(server))
      ->AnalyzeOperation(&context, request, response);
}

grpc::Status AnalyzeGraph(const ServerAddress& server, const v1::AnalyzeGraphRequest& request,
                          v1::AnalyzeGraphResponse* response) {
  grpc::Status checked = CheckSize(request);
  if (!checked.ok()) return checked;
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::AccountingService::NewStub(NewChannel(server))
      ->AnalyzeGraph(&context, request, response);
}

grpc::Status PlanRun(const ServerAddress& server, const v1::PlanRunRequest& request,
                     v1::PlanRunResponse* response) {
  grpc::Status checked = CheckSize(request);
  if (!checked.ok()) return checked;
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::PlanningService::NewStub(NewChannel(server))->PlanRun(&context, request, response);
}

grpc::Status ListAccelerators(const ServerAddress& server,
                              const v1::ListAcceleratorsRequest& request,
                              v1::ListAcceleratorsResponse* response) {
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::HardwareService::NewStub(NewChannel(server))
      ->ListAccelerators(&context, request, response);
}

grpc::Status ListDevices(const ServerAddress& server, const v1::ListDevicesRequest& request,
                         v1::ListDevicesResponse* response) {
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::HardwareService::NewStub(NewChannel(server))->ListDevices(&context, request, response);
}

grpc::Status GetCalibration(const ServerAddress& server, const v1::GetCalibrationRequest& request,
                            v1::GetCalibrationResponse* response) {
  grpc::ClientContext context;
  SetDeadline(server, &context);
  return v1::HardwareService::NewStub(NewChannel(server))
      ->GetCalibration(&context, request, response);
}

}  // namespace sextant
