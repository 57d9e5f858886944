#include "server/handler/size_model_answer.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/search/size_model.h"
#include "server/convert/architecture.h"
#include "server/convert/message_fields.h"
#include "server/convert/run_spec.h"
#include "server/convert/sizing.h"
#include "server/handler/plan_answer.h"

namespace sextant::server {
namespace {

void ModelTo(const LargestModel& size, const v1::PlanRunRequest& run, v1::SizeModelResponse* out) {
  out->set_met(size.met);
  out->set_basis(SizeBasisPair::To(size.basis));
  out->set_parameter_count(size.model.parameter_count);
  out->set_token_count(size.model.token_count);
  if (size.shape.has_value()) ArchitectureTo(*size.shape, out->mutable_architecture());
  out->set_width_ratio(size.model.width_ratio);
  out->set_layer_count(size.model.layer_count);
  out->set_limit(SizeLimitPair::To(size.limit));
  if (size.model.sized.plan != nullptr) {
    out->set_rates_fingerprint(SizedPlanTo(size.model.sized, run, out->mutable_plan()));
  }
  for (const SizedModel& model : size.tried) {
    v1::TriedModel* const tried = out->add_tried();
    tried->set_parameter_count(model.parameter_count);
    tried->set_hidden_size(model.hidden_size);
    tried->set_layer_count(model.layer_count);
    TriedTo(model.sized, tried);
  }
}

void CheckSizeModel(const v1::SizeModelRequest& request, FieldViolations& violations) {
  static const check::NumberLimits run_limits(*v1::PlanRunRequest::descriptor(),
                                              {"sextant.v1.TrainingSpec.token_count"});
  static const check::NumberLimits limits(*v1::SizeModelRequest::descriptor(),
                                          {"sextant.v1.SizeModelRequest.run"});
  if (request.has_tokens_per_parameter()) {
    CheckNumbers(run_limits, request.run(), "", violations);
  } else {
    CheckPlanNumbers(request.run(), violations);
  }
  CheckNumbers(limits, request, "", violations);
}

}  // namespace

absl::Status AnswerSizeModel(const v1::SizeModelRequest& request, const DeviceResolver& resolver,
                             CallWork& work, Metrics& metrics, v1::SizeModelResponse* out) {
  const InFlight in_flight(metrics.plans_in_flight());
  FieldViolations violations;
  CheckSizeModel(request, violations);
  const RunSpec run =
      SizedRunFrom(request.run(), request.has_max_duration() ? &request.max_duration() : nullptr,
                   resolver, violations);
  absl::optional<double> ratio;
  if (request.has_tokens_per_parameter()) ratio = request.tokens_per_parameter();
  const absl::StatusOr<LargestModel> size =
      FindLargestModel(run, ratio, std::move(violations), work);
  if (!size.ok()) return InSizeRequest(size.status());
  ModelTo(*size, request.run(), out);
  for (const SizedModel& model : size->tried) {
    metrics.layouts_considered().Increment(static_cast<double>(model.sized.layout_count));
  }
  return absl::OkStatus();
}

}  // namespace sextant::server
