#include "server/planning_service.h"

#include <string>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "engine/hardware/rates.h"
#include "engine/run/plan.h"
#include "server/convert/named_devices.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"

namespace sextant {
namespace {

void IgnoredFieldsTo(const ModelSpec& model, v1::Plan* out) {
  if (!model.hugging_face_config.has_value()) return;
  for (const std::string& name : model.hugging_face_config->ignored_fields) {
    out->add_ignored_config_fields(name);
  }
}

}  // namespace

PlanningService::PlanningService(Metrics& metrics, PlanningOptions options)
    : metrics_(metrics),
      options_(std::move(options)),
      plan_run_("sextant.v1.PlanningService/PlanRun", metrics, options_.log_level) {}

absl::Status PlanningService::Answer(const v1::PlanRunRequest& request,
                                     v1::PlanRunResponse* response) {
  FieldViolations violations;
  RunSpec run = RunSpecFrom(request, violations);
  // Held to the end: the run's texts point into it.
  std::shared_ptr<const CalibrationSnapshot> snapshot;
  if (request.cluster().device_uuids_size() > 0) {
    snapshot = options_.calibrations();
    run.cluster.devices =
        NamedDevicesFrom(request.cluster(), *snapshot, options_.now(), violations);
  }
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, sextant::PlanRun(run, std::move(violations)));
  response->set_engine_version(std::string(EngineVersion()));
  response->set_rates_fingerprint(RatesFingerprint(plan.rates));
  metrics_.layouts_considered().Increment();
  metrics_.verdict(plan.fit.fits()).Increment();
  PlanTo(std::move(plan), response->mutable_plan());
  IgnoredFieldsTo(run.model, response->mutable_plan());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PlanningService::PlanRun(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request,
                                                   grpc::ByteBuffer* response) {
  metrics_.plans_in_flight().Increment();
  auto* reactor = AnswerInline<v1::PlanRunRequest, v1::PlanRunResponse>(
      plan_run_, context, request, response,
      [this](const v1::PlanRunRequest& in, v1::PlanRunResponse* out) { return Answer(in, out); });
  metrics_.plans_in_flight().Decrement();
  return reactor;
}

}  // namespace sextant
