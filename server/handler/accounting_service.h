// sextant.v1.AccountingService.
#ifndef SEXTANT_SERVER_HANDLER_ACCOUNTING_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_ACCOUNTING_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "server/call/call.h"
#include "server/call/worker_pool.h"
#include "server/metrics/metrics.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant::server {

class FleetReader;

struct AccountingOptions {
  CallRules calls = {};
  // Returns the state of this host's devices; never null. This and `now` are called on many
  // threads.
  std::function<std::shared_ptr<const CalibrationSnapshot>()> calibrations;
  std::function<absl::Time()> now;
  // Reads the calibrations of requests; outlives the service's calls.
  SuppliedCalibrations* supplied = nullptr;
  // Answers requests that take long; outlives the service's calls.
  WorkerPool* workers = nullptr;
  FleetReader* fleet = nullptr;  // likewise; null: no fleet's metrics are read
};

// True where a call takes a millisecond at most, and is answered on gRPC's threads.
bool IsShort(const v1::CountModelRequest& request);
// A device's models may be fitted first.
bool IsShort(const v1::AnalyzeOperationRequest& request);

// Every method on bytes; see AnswerAfter().
using RawAccountingService = v1::AccountingService::WithRawCallbackMethod_ListDataTypes<
    v1::AccountingService::WithRawCallbackMethod_DescribeDataType<
        v1::AccountingService::WithRawCallbackMethod_DescribeTokens<
            v1::AccountingService::WithRawCallbackMethod_AnalyzeTensor<
                v1::AccountingService::WithRawCallbackMethod_AnalyzeOperation<
                    v1::AccountingService::WithRawCallbackMethod_AnalyzeGraph<
                        v1::AccountingService::WithRawCallbackMethod_CountModel<
                            v1::AccountingService::WithRawCallbackMethod_ListModels<
                                v1::AccountingService::Service>>>>>>>>;

class AccountingService final : public RawAccountingService {
 public:
  // `metrics` outlives the service.
  AccountingService(Metrics& metrics, AccountingOptions options);

  grpc::ServerUnaryReactor* ListDataTypes(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DescribeDataType(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DescribeTokens(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* AnalyzeTensor(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* AnalyzeOperation(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* AnalyzeGraph(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CountModel(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;

 private:
  const AccountingOptions options_;
  Method list_data_types_;
  Method describe_data_type_;
  Method describe_tokens_;
  Method analyze_tensor_;
  Method analyze_operation_;
  Method analyze_graph_;
  Method count_model_;
  Method list_models_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_ACCOUNTING_SERVICE_H_
