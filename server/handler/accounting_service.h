// sextant.v1.AccountingService.
#ifndef SEXTANT_SERVER_HANDLER_ACCOUNTING_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_ACCOUNTING_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "server/call/service.h"
#include "server/call/worker_pool.h"
#include "server/metrics/metrics.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/accounting_service.pb.h"

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

class AccountingService final : public Service {
 public:
  // `metrics` outlives the service.
  AccountingService(Metrics& metrics, AccountingOptions options);

 private:
  absl::Status AnalyzeOperation(const CallContext& context,
                                const v1::AnalyzeOperationRequest& request,
                                v1::AnalyzeOperationResponse* response);

  const AccountingOptions options_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_ACCOUNTING_SERVICE_H_
