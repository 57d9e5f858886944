#include "server/convert/operation_device.h"

#include <string>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/operation/roofline.h"
#include "server/convert/enums.h"
#include "server/convert/rates.h"

namespace sextant::server {
namespace {

using RooflineBoundPair = OneLater<RooflineBound::kMemory, v1::RooflineBound_MAX>;
using AdviceKindPair = OneLater<AdviceKind::kLessArithmetic, v1::AdviceKind_MAX>;
using UtilisationReadingPair = OneLater<UtilisationReading::kWaiting, v1::UtilisationReading_MAX>;

void RooflineTo(const Roofline& roofline, v1::Roofline* out) {
  out->set_bound(RooflineBoundPair::To(roofline.bound));
  if (roofline.intensity.has_value()) out->set_arithmetic_intensity(*roofline.intensity);
  out->set_ridge_flops_per_byte(roofline.ridge);
  out->set_compute_seconds(roofline.compute.value());
  out->set_memory_seconds(roofline.memory.value());
  out->set_launch_seconds(roofline.launch.value());
  out->set_total_seconds(roofline.time.value());
  out->set_least_seconds(roofline.classical.value());
  out->set_fraction_of_peak(roofline.fraction_of_peak);
}

void AdviceTo(Advice advice, v1::Advice* out) {
  out->set_kind(AdviceKindPair::To(advice.kind));
  NoteValuesTo(advice.values, out->mutable_values());
  out->set_text(std::move(advice.text));
}

// The achieved time as a share of `peak`.
absl::Status UtilisationTo(const TimedOperation& timed, FlopsPerSecond peak, v1::Utilisation* out) {
  const Flops flops = timed.analysis.forward.sum.flops();
  const absl::StatusOr<Utilisation> utilisation =
      UtilisationOf({.flops = flops, .time = Seconds(*timed.achieved_seconds), .peak = peak});
  if (!utilisation.ok()) {
    return InvalidField("achieved_seconds", FieldViolationsOf(utilisation.status())[0].description);
  }
  out->set_flops(flops.value());
  out->set_achieved_seconds(*timed.achieved_seconds);
  out->set_flops_per_second(flops.value() / *timed.achieved_seconds);
  out->set_peak_flops_per_second(peak.value());
  out->set_ratio(utilisation->ratio);
  out->set_reading(UtilisationReadingPair::To(utilisation->reading));
  SEXTANT_ASSIGN_OR_RETURN(const Roofline roofline,
                           RooflineOf(timed.analysis.forward, timed.rates.rates, timed.method));
  out->set_explanation(ExplanationOf(*utilisation, roofline, Seconds(*timed.achieved_seconds)));
  return absl::OkStatus();
}

absl::Status AchievedTo(const TimedOperation& timed, v1::OperationTime* out) {
  if (!timed.achieved_seconds.has_value()) return absl::OkStatus();
  const absl::optional<FlopsPerSecond> rate = timed.rates.rates.matrix;
  if (!rate.has_value()) {
    return InvalidField("device.matrix_flops_per_second",
                        "is required with achieved_seconds: utilisation is a share of it");
  }
  SEXTANT_RETURN_IF_ERROR(UtilisationTo(timed, *rate, out->mutable_utilisation()));
  const absl::optional<FlopsPerSecond> peak = timed.rates.datasheet_peak;
  if (!peak.has_value() || *peak == *rate) return absl::OkStatus();
  return UtilisationTo(timed, *peak, out->mutable_datasheet_utilisation());
}

}  // namespace

OperationDevice OperationDeviceFrom(const v1::OperationDevice& wire, absl::string_view path,
                                    const DeviceResolver& resolver, FieldViolations& violations) {
  OperationDevice out;
  out.requirement =
      RateRequirementFrom(wire.rate_requirement(), FieldPath(path, "rate_requirement"), violations);
  if (wire.has_device()) {
    out.device = resolver.Resolve(wire.device(), FieldPath(path, "device"),
                                  out.requirement.maximum_age_seconds, violations);
  }
  if (wire.has_matrix_flops_per_second()) {
    out.matrix_flops_per_second = wire.matrix_flops_per_second();
  }
  if (wire.has_general_flops_per_second()) {
    out.general_flops_per_second = wire.general_flops_per_second();
  }
  if (wire.has_memory_bytes_per_second()) {
    out.memory_bytes_per_second = wire.memory_bytes_per_second();
  }
  out.launch_seconds = wire.launch_seconds();
  return out;
}

absl::Status OperationTimeTo(const TimedOperation& timed, SourceNumbers& sources,
                             v1::OperationTime* out) {
  const OperationAnalysis& analysis = timed.analysis;
  const DeviceRates& rates = timed.rates.rates;
  SEXTANT_ASSIGN_OR_RETURN(const Roofline forward,
                           RooflineOf(analysis.forward, rates, timed.method));
  RooflineTo(forward, out->mutable_forward());
  if (analysis.unfused.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(const Roofline unfused,
                             RooflineOf(*analysis.unfused, rates, timed.method));
    RooflineTo(unfused, out->mutable_unfused());
  }
  if (analysis.backward.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(const Roofline backward,
                             RooflineOf(analysis.backward->cost, rates, timed.method));
    RooflineTo(backward, out->mutable_backward());
  }
  SEXTANT_ASSIGN_OR_RETURN(Advice advice, AdviceFor(timed.request, analysis, rates));
  AdviceTo(std::move(advice), out->mutable_advice());
  if (const auto rows = RowsAtRidge(timed.request, rates); rows.has_value()) {
    out->set_rows_at_ridge(*rows);
  }
  for (const Rate& rate : timed.rates.used) RateTo(rate, sources, out->add_rates());
  out->set_rates_fingerprint(RatesFingerprint(timed.rates.used));
  NotesTo(timed.rates.notes, out->mutable_warnings(), out->mutable_assumptions());
  return AchievedTo(timed, out);
}

}  // namespace sextant::server
