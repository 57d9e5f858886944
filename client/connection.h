// Calls to the server.
#ifndef SEXTANT_CLIENT_CONNECTION_H_
#define SEXTANT_CLIENT_CONNECTION_H_

#include <grpcpp/support/status.h>

#include <string>

#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// Which server to ask, and how long to wait for its answer.
struct ServerAddress {
  std::string address = "127.0.0.1:50051";  // or "unix:PATH"
  double timeout_seconds = 10;
};

// AccountingService.ListDataTypes.
grpc::Status ListDataTypes(const ServerAddress& server, const v1::ListDataTypesRequest& request,
                           v1::ListDataTypesResponse* response);

// AccountingService.DescribeDataType.
grpc::Status DescribeDataType(const ServerAddress& server,
                              const v1::DescribeDataTypeRequest& request,
                              v1::DescribeDataTypeResponse* response);

// AccountingService.DescribeTokens.
grpc::Status DescribeTokens(const ServerAddress& server, const v1::DescribeTokensRequest& request,
                            v1::DescribeTokensResponse* response);

// AccountingService.AnalyzeTensor. Errors: as PlanRun().
grpc::Status AnalyzeTensor(const ServerAddress& server, const v1::AnalyzeTensorRequest& request,
                           v1::AnalyzeTensorResponse* response);

// AccountingService.AnalyzeOperation. Errors: as PlanRun().
grpc::Status AnalyzeOperation(const ServerAddress& server,
                              const v1::AnalyzeOperationRequest& request,
                              v1::AnalyzeOperationResponse* response);

// AccountingService.AnalyzeGraph; a request that is too large is refused as PlanRun's.
grpc::Status AnalyzeGraph(const ServerAddress& server, const v1::AnalyzeGraphRequest& request,
                          v1::AnalyzeGraphResponse* response);

// AccountingService.CountModel; the same.
grpc::Status CountModel(const ServerAddress& server, const v1::CountModelRequest& request,
                        v1::CountModelResponse* response);

// PlanningService.PlanRun. A request above kMaxRequestBytes is refused here, unsent:
// INVALID_ARGUMENT with reason REQUEST_TOO_LARGE.
grpc::Status PlanRun(const ServerAddress& server, const v1::PlanRunRequest& request,
                     v1::PlanRunResponse* response);

// HardwareService.ListAccelerators.
grpc::Status ListAccelerators(const ServerAddress& server,
                              const v1::ListAcceleratorsRequest& request,
                              v1::ListAcceleratorsResponse* response);

// HardwareService.ListDevices.
grpc::Status ListDevices(const ServerAddress& server, const v1::ListDevicesRequest& request,
                         v1::ListDevicesResponse* response);

// HardwareService.GetKernelRates.
grpc::Status GetKernelRates(const ServerAddress& server, const v1::GetKernelRatesRequest& request,
                            v1::GetKernelRatesResponse* response);

// HardwareService.ListNodeTypes.
grpc::Status ListNodeTypes(const ServerAddress& server, const v1::ListNodeTypesRequest& request,
                           v1::ListNodeTypesResponse* response);

// HardwareService.GetLinkTimes. Errors: as PlanRun().
grpc::Status GetLinkTimes(const ServerAddress& server, const v1::GetLinkTimesRequest& request,
                          v1::GetLinkTimesResponse* response);

// HardwareService.GetCalibration.
grpc::Status GetCalibration(const ServerAddress& server, const v1::GetCalibrationRequest& request,
                            v1::GetCalibrationResponse* response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CONNECTION_H_
