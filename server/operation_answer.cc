#include "server/operation_answer.h"

#include <string>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "engine/operation/analysis.h"
#include "engine/run/operation_rates.h"
#include "server/convert/named_devices.h"
#include "server/convert/operation.h"
#include "server/convert/operation_analysis.h"
#include "server/convert/operation_device.h"

namespace sextant {
namespace {

// A device needs an operation that runs on it, and an achieved time a device.
void CheckCombination(const v1::AnalyzeOperationRequest& request, FieldViolations& violations) {
  if (request.has_device() && request.operation().has_host_copy()) {
    violations.Add("device",
                   "is not where a copy between host and device takes its time: leave it out, and "
                   "see host_copy in the answer");
  }
  if (request.has_achieved_seconds() && !request.has_device()) {
    violations.Add("device",
                   "is required with achieved_seconds: utilisation is a share of its "
                   "rate");
  }
}

struct Device {
  OperationDevice named;
  RooflineMethod method = RooflineMethod::kSmooth;
  // Texts of `named` point into it.
  std::shared_ptr<const CalibrationSnapshot> snapshot;
};

Device DeviceFrom(const v1::AnalyzeOperationRequest& request, const AccountingOptions& options,
                  FieldViolations& violations) {
  const v1::OperationDevice& wire = request.device();
  Device out;
  out.named = OperationDeviceFrom(wire, "device", violations);
  out.method = RooflineMethodFrom(wire.method(), "device.method", violations);
  if (!wire.device_uuid().empty()) {
    out.snapshot = options.calibrations();
    out.named.device = NamedDeviceFrom(wire.device_uuid(), *out.snapshot, options.now());
  }
  return out;
}

}  // namespace

absl::Status AnswerOperation(const v1::AnalyzeOperationRequest& request,
                             const AccountingOptions& options,
                             v1::AnalyzeOperationResponse* response) {
  FieldViolations violations;
  OperationRequest asked;
  absl::optional<ReadOperation> read = OperationFrom(request.operation(), "operation", violations);
  asked.types = OperationTypesFrom(request.data_types(), "data_types", violations);
  if (request.has_transcendental_flops()) {
    asked.convention.transcendental = request.transcendental_flops();
  }
  const Device device = DeviceFrom(request, options, violations);
  CheckCombination(request, violations);
  if (!read.has_value()) return violations.ToStatus();
  FillSizeDefaults(read->operation);
  asked.operation = std::move(read->operation);

  const absl::StatusOr<OperationAnalysis> analysis = AnalyzeOperation(asked, read->path);
  if (!analysis.ok()) violations.AddAll(analysis.status());
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  SEXTANT_RETURN_IF_ERROR(OperationAnalysisTo(asked.operation, *analysis, response));
  response->set_engine_version(std::string(EngineVersion()));
  if (!request.has_device()) return absl::OkStatus();

  SEXTANT_ASSIGN_OR_RETURN(const OperationRates rates,
                           RatesFor(device.named, asked.types.input, "device"));
  TimedOperation timed = {
      .request = asked, .analysis = *analysis, .rates = rates, .method = device.method};
  if (request.has_achieved_seconds()) timed.achieved_seconds = request.achieved_seconds();
  return OperationTimeTo(timed, response->mutable_time());
}

}  // namespace sextant
