// sextant.v1.AccountingService.
#ifndef SEXTANT_SERVER_ACCOUNTING_SERVICE_H_
#define SEXTANT_SERVER_ACCOUNTING_SERVICE_H_

#include "server/call.h"
#include "server/metrics.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant {

class AccountingService final : public v1::AccountingService::WithRawCallbackMethod_ListDataTypes<
                                    v1::AccountingService::WithRawCallbackMethod_DescribeDataType<
                                        v1::AccountingService::Service>> {
 public:
  // `metrics` outlives the service.
  AccountingService(Metrics& metrics, CallLogLevel log_level);

  grpc::ServerUnaryReactor* ListDataTypes(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DescribeDataType(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;

 private:
  Method list_data_types_;
  Method describe_data_type_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_ACCOUNTING_SERVICE_H_
