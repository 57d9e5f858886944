#include "server/convert/step_time.h"

#include <string>

#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

using Constant = StackConstant;
using Wire = v1::SoftwareStack;

using StepCausePair = OneLater<StepCause::kHostOptimizer, v1::StepCause_MAX>;
using OperationBoundPair = OneLater<OperationBound::kExchange, v1::StepOperation::Bound_MAX>;

// A number of the message.
struct NumberField {
  Constant constant;
  bool (Wire::*has)() const;
  double (Wire::*get)() const;
};

constexpr NumberField kNumbers[] = {
    {Constant::kAttentionTimeRatio, &Wire::has_attention_time_ratio, &Wire::attention_time_ratio},
    {Constant::kMemoryPassTimeRatio, &Wire::has_memory_pass_time_ratio,
     &Wire::memory_pass_time_ratio},
    {Constant::kTensorExchangeExposure, &Wire::has_tensor_exchange_exposure,
     &Wire::tensor_exchange_exposure},
    {Constant::kDataExchangeOverlap, &Wire::has_data_exchange_overlap,
     &Wire::data_exchange_overlap},
    {Constant::kOverlapContention, &Wire::has_overlap_contention, &Wire::overlap_contention},
    {Constant::kHostSecondsPerLayer, &Wire::has_host_seconds_per_layer,
     &Wire::host_seconds_per_layer},
    {Constant::kBroadcastSecondsPerRank, &Wire::has_broadcast_seconds_per_rank,
     &Wire::broadcast_seconds_per_rank},
    {Constant::kGrowthPerDoubling, &Wire::has_growth_per_doubling, &Wire::growth_per_doubling},
    {Constant::kSustainedTimeRatio, &Wire::has_sustained_time_ratio, &Wire::sustained_time_ratio},
    {Constant::kNarrowSustainedTimeRatio, &Wire::has_narrow_sustained_time_ratio,
     &Wire::narrow_sustained_time_ratio},
    {Constant::kNarrowProductTimeRatio, &Wire::has_narrow_product_time_ratio,
     &Wire::narrow_product_time_ratio},
    {Constant::kExpertTimeRatio, &Wire::has_expert_time_ratio, &Wire::expert_time_ratio},
    {Constant::kExpertLayerHostSeconds, &Wire::has_expert_layer_host_seconds,
     &Wire::expert_layer_host_seconds},
    {Constant::kPipelineExchangeExposure, &Wire::has_pipeline_exchange_exposure,
     &Wire::pipeline_exchange_exposure},
    {Constant::kExpertExchangeExposure, &Wire::has_expert_exchange_exposure,
     &Wire::expert_exchange_exposure},
    {Constant::kGradientAdditionOverlap, &Wire::has_gradient_addition_overlap,
     &Wire::gradient_addition_overlap},
    {Constant::kMisalignedProductTimeRatio, &Wire::has_misaligned_product_time_ratio,
     &Wire::misaligned_product_time_ratio},
    {Constant::kMisalignedHeadTimeRatio, &Wire::has_misaligned_head_time_ratio,
     &Wire::misaligned_head_time_ratio},
    {Constant::kOptimizerTimeRatio, &Wire::has_optimizer_time_ratio, &Wire::optimizer_time_ratio},
    {Constant::kKernelLaunchSeconds, &Wire::has_kernel_launch_seconds,
     &Wire::kernel_launch_seconds},
};
// All but one_copy_per_node and all_reduces_gradients.
static_assert(sizeof(kNumbers) / sizeof(kNumbers[0]) + 2 == kStackConstantCount);

void AssumptionsTo(const SoftwareConstants& software, SourceNumbers& sources, v1::StepTime* out) {
  for (size_t i = 0; i < kStackConstantCount; ++i) {
    const auto constant = static_cast<Constant>(i);
    const StackValue& value = software.stack->of(constant);
    const bool given = software.IsGiven(constant);
    if (!given && value.source.empty()) continue;
    v1::StepAssumption* const wire = out->add_assumptions();
    wire->set_field(Text(StackConstantName(constant)));
    wire->set_value(software.of(constant));
    wire->set_from_request(given);
    if (!given) wire->set_source_number(sources.Of(std::string(value.source)));
  }
}

void OperationTo(const LongOperation& operation, double step_seconds, v1::StepOperation* out) {
  out->set_module(Text(operation.module));
  out->set_name(Text(operation.name));
  out->set_training_pass(TracePassPair::To(operation.pass));
  out->set_bound(OperationBoundPair::To(operation.bound));
  out->set_seconds(operation.seconds.value());
  out->set_share(operation.seconds.value() / step_seconds);
  out->set_launches(operation.launches);
  if (operation.flops > 0) out->set_flops_per_second(operation.rate.value());
}

void SourceTo(const KernelTimeShare& share, SourceNumbers& sources, v1::KernelTimeSource* out) {
  out->set_source(RateSourcePair::To(share.source.source));
  out->set_share(share.share);
  out->set_source_number(sources.Of(share.source.citation));
  if (share.source.measured_unix_seconds == 0) return;
  out->mutable_measured_time()->set_seconds(share.source.measured_unix_seconds);
}

}  // namespace

SoftwareSpec SoftwareFrom(const v1::SoftwareStack& m) {
  SoftwareSpec out = {.name = m.name()};
  for (const NumberField& field : kNumbers) {
    if ((m.*field.has)()) out.of(field.constant) = (m.*field.get)();
  }
  if (m.has_one_copy_per_node()) out.of(Constant::kOneCopyPerNode) = m.one_copy_per_node();
  if (m.has_all_reduces_gradients()) {
    out.of(Constant::kAllReducesGradients) = m.all_reduces_gradients();
  }
  return out;
}

void StepTimeTo(const StepPlan& step, bool full, SourceNumbers& sources, v1::StepTime* out) {
  const StepEstimate& estimate = step.estimate;
  const double expected = estimate.seconds.expected.value();
  IntervalTo(estimate.seconds, out->mutable_seconds());
  for (size_t i = 0; i < kStepCauseCount; ++i) {
    if (estimate.parts[i] <= 0) continue;
    v1::StepPart* const part = out->add_parts();
    part->set_cause(StepCausePair::To(static_cast<StepCause>(i)));
    part->set_seconds(estimate.parts[i]);
    part->set_share(estimate.parts[i] / expected);
  }
  out->set_micro_batch_count(estimate.micro_batch_count);
  out->set_token_count(step.token_count);
  out->set_bubble_ratio(estimate.bubble_ratio);
  out->set_slowest_stage(estimate.slowest_stage);
  out->set_software_stack(Text(step.software.stack->name));
  if (step.calibration.has_value()) {
    v1::StepCalibration* const wire = out->mutable_calibration();
    wire->set_measured_over_predicted(step.calibration->ratio);
    wire->set_predicted_seconds(step.calibration->predicted.value());
    wire->set_distance(step.calibration->distance);
    wire->set_applied(step.calibration->applied);
    wire->set_factor(step.calibration->factor);
  }
  for (const KernelTimeShare& each : step.kernel_sources) {
    SourceTo(each, sources, out->add_kernel_sources());
  }
  if (!full) return;
  for (const StepSensitivity& each : estimate.sensitivities) {
    v1::StepSensitivity* const wire = out->add_sensitivities();
    wire->set_rate(StepRatePair::To(each.rate));
    wire->set_saved_share(each.saved_share);
  }
  for (const LongOperation& each : step.longest_operations) {
    OperationTo(each, expected, out->add_longest_operations());
  }
  AssumptionsTo(step.software, sources, out);
}

}  // namespace sextant::server
