#include "server/convert/kernel.h"

#include <string>

#include "server/convert/enums.h"

namespace sextant::server {
namespace {

static_assert(static_cast<int>(KernelBasis::kDatasheet) + 1 == v1::KERNEL_BASIS_DATASHEET);
static_assert(static_cast<int>(KernelRegime::kSustained) + 1 == v1::KERNEL_REGIME_SUSTAINED);
static_assert(static_cast<int>(CurveKind::kCausalAttention) + 1 ==
              v1::KERNEL_KIND_CAUSAL_ATTENTION);

void ErrorTo(const PredictionError& error, v1::PredictionError* out) {
  out->set_shape_count(error.shape_count);
  out->set_p10_ratio(error.p10);
  out->set_median_ratio(error.median);
  out->set_p90_ratio(error.p90);
  out->set_median_absolute_error_ratio(error.median_absolute);
  out->set_p90_absolute_error_ratio(error.p90_absolute);
}

// Writes the expected time, its interval and its rate, fields that both messages have.
template <typename Message>
void TimeTo(const KernelTime& time, Flops flops, absl::optional<FlopsPerSecond> peak,
            Message* out) {
  const double rate = flops.value() / time.expected.value();
  out->set_expected_seconds(time.expected.value());
  out->set_low_seconds(time.low.value());
  out->set_high_seconds(time.high.value());
  out->set_flops_per_second(rate);
  if (peak.has_value()) out->set_datasheet_mfu(rate / peak->value());
  out->set_basis(KernelBasisTo(time.basis));
}

}  // namespace

KernelRegime KernelRegimeFrom(v1::KernelRegime wire, absl::string_view field,
                              FieldViolations& violations) {
  if (!v1::KernelRegime_IsValid(wire)) violations.Add(field, UnknownEnumNumber(wire));
  return wire == v1::KERNEL_REGIME_SUSTAINED ? KernelRegime::kSustained : KernelRegime::kBurst;
}

v1::KernelBasis KernelBasisTo(KernelBasis basis) {
  return static_cast<v1::KernelBasis>(static_cast<int>(basis) + 1);
}

void KernelPredictionTo(const OperationPrediction& prediction, const KernelTime& time,
                        const PredictedWork& work, v1::KernelPrediction* out) {
  const KernelSource& source = prediction.source;
  TimeTo(time, work.flops, work.peak, out);
  out->set_regime(static_cast<v1::KernelRegime>(static_cast<int>(prediction.regime) + 1));
  out->set_source(RateSourceTo(source.source));
  out->set_citation(source.citation);
  out->set_device(std::string(source.device));
  out->set_form(std::string(source.form));
  ErrorTo(source.error, out->mutable_error());
  for (const NearbyShape& near : prediction.nearest) {
    v1::NearbyKernel* wire = out->add_nearest();
    wire->set_shape(near.shape);
    wire->set_seconds(near.time.value());
  }
  if (source.measured_unix_seconds == 0) return;
  out->mutable_measured_time()->set_seconds(source.measured_unix_seconds);
  out->set_device_uuid(std::string(source.device_uuid));
}

void KernelCurveTo(const KernelCurve& curve, v1::KernelCurve* out) {
  out->set_kind(static_cast<v1::KernelKind>(static_cast<int>(curve.kind) + 1));
  out->set_data_type(DataTypeTo(curve.data_type));
  out->set_source(RateSourceTo(curve.source.source));
  out->set_citation(curve.source.citation);
  out->set_form(std::string(curve.source.form));
  ErrorTo(curve.source.error, out->mutable_error());
  if (curve.peak.has_value()) out->set_peak_flops_per_second(curve.peak->value());
  for (const CurvePoint& point : curve.points) {
    v1::KernelCurvePoint* wire = out->add_points();
    wire->set_size(point.size);
    TimeTo(point.time, point.flops, curve.peak, wire);
  }
}

}  // namespace sextant::server
