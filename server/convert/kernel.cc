#include "server/convert/kernel.h"

#include <string>
#include <variant>

#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

using CurveKindPair = OneLater<CurveKind::kCausalAttention, v1::KernelKind_MAX>;

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
void TimeTo(const KernelTime& time, const PredictedWork& work, Message* out) {
  const double seconds = time.expected.value();
  IntervalTo(time.interval(), out->mutable_duration_seconds());
  out->set_flops_per_second(work.flops.value() / seconds);
  if (work.peak.has_value()) {
    out->set_datasheet_mfu(work.matrix_flops.value() / seconds / work.peak->value());
  }
  out->set_basis(KernelBasisPair::To(time.basis));
}

void NearbyTo(const NearbyShape& near, v1::NearbyKernel* out) {
  out->set_seconds(near.time.value());
  if (const auto* matmul = std::get_if<MatmulShape>(&near.work); matmul != nullptr) {
    v1::MatmulExtent* const wire = out->mutable_matmul();
    wire->set_m(matmul->m);
    wire->set_n(matmul->n);
    wire->set_k(matmul->k);
    wire->set_batch_count(1);  // batches are not measured
  } else if (const auto* pass = std::get_if<StreamWork>(&near.work); pass != nullptr) {
    out->mutable_memory_pass()->set_size_bytes(static_cast<int64_t>(pass->bytes()));
    out->mutable_memory_pass()->set_flops(pass->flops);
  }
}

}  // namespace

void KernelPredictionTo(const OperationPrediction& prediction, const KernelTime& time,
                        const PredictedWork& work, SourceNumbers& sources,
                        v1::KernelPrediction* out) {
  const KernelSource& source = prediction.source;
  TimeTo(time, work, out);
  out->set_regime(KernelRegimePair::To(prediction.regime));
  out->set_source(RateSourcePair::To(source.source));
  out->set_source_number(sources.Of(source.citation));
  out->set_device(std::string(source.device));
  out->set_form(PredictionFormPair::To(source.form));
  ErrorTo(source.error, out->mutable_error());
  for (const NearbyShape& near : prediction.nearest) NearbyTo(near, out->add_nearest());
  if (source.measured_unix_seconds == 0) return;
  out->mutable_measured_time()->set_seconds(source.measured_unix_seconds);
  out->set_device_uuid(std::string(source.device_uuid));
}

void KernelCurveTo(const KernelCurve& curve, SourceNumbers& sources, v1::KernelCurve* out) {
  out->set_kind(CurveKindPair::To(curve.kind));
  out->set_data_type(DataTypePair::To(curve.data_type));
  out->set_source(RateSourcePair::To(curve.source.source));
  out->set_source_number(sources.Of(curve.source.citation));
  out->set_form(PredictionFormPair::To(curve.source.form));
  ErrorTo(curve.source.error, out->mutable_error());
  if (curve.peak.has_value()) out->set_peak_flops_per_second(curve.peak->value());
  for (const CurvePoint& point : curve.points) {
    v1::KernelCurvePoint* wire = out->add_points();
    wire->set_size(point.size);
    TimeTo(point.time, {point.flops, point.flops, curve.peak}, wire);
  }
}

}  // namespace sextant::server
