#include "server/accounting_service.h"

#include <string>

#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "engine/tensor/number_format.h"
#include "server/convert/number_format.h"
#include "server/unary_call.h"

namespace sextant {
namespace {

absl::Status List(const v1::ListDataTypesRequest&, v1::ListDataTypesResponse* response) {
  for (const NumberFormat& format : NumberFormats())
    NumberFormatTo(format, response->add_formats());
  response->set_engine_version(std::string(EngineVersion()));
  return absl::OkStatus();
}

absl::Status Describe(const v1::DescribeDataTypeRequest& request,
                      v1::DescribeDataTypeResponse* response) {
  SEXTANT_RETURN_IF_ERROR(DescribeDataTypeTo(request, response));
  response->set_engine_version(std::string(EngineVersion()));
  return absl::OkStatus();
}

}  // namespace

AccountingService::AccountingService(Metrics& metrics, CallLogLevel log_level)
    : list_data_types_("sextant.v1.AccountingService/ListDataTypes", metrics, log_level),
      describe_data_type_("sextant.v1.AccountingService/DescribeDataType", metrics, log_level) {}

grpc::ServerUnaryReactor* AccountingService::ListDataTypes(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return AnswerInline<v1::ListDataTypesRequest, v1::ListDataTypesResponse>(
      list_data_types_, context, request, response, List);
}

grpc::ServerUnaryReactor* AccountingService::DescribeDataType(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request,
                                                              grpc::ByteBuffer* response) {
  return AnswerInline<v1::DescribeDataTypeRequest, v1::DescribeDataTypeResponse>(
      describe_data_type_, context, request, response, Describe);
}

}  // namespace sextant
