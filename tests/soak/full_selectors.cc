#include "tests/soak/full_selectors.h"

#include "absl/strings/str_cat.h"
#include "sextant/v1/calibration.pb.h"
#include "tests/benchmarks/service_requests.h"

namespace sextant::server {
namespace {

void TimeTo(double seconds, v1::TimeStatistics& out) {
  out.set_median_seconds(seconds);
  out.set_p10_seconds(0.98 * seconds);
  out.set_p90_seconds(1.03 * seconds);
  out.set_sample_count(24);
  out.set_repetition_count(3);
  out.set_stable(true);
}

v1::MatmulMeasurement ProductOf(v1::DataType type, int i) {
  v1::MatmulMeasurement out;
  out.set_data_type(type);
  out.set_m(64 * (1 + i % 64));
  out.set_n(128 * (1 + i / 64));
  out.set_k(4096);
  const double rate = 1.2345e11 + 1e9 * (i % 37);
  TimeTo(2.0 * static_cast<double>(out.m()) * static_cast<double>(out.n()) * 4096 / rate,
         *out.mutable_time());
  out.set_flops_per_second(rate);
  out.set_window(v1::MatmulMeasurement::WINDOW_BURST);
  out.set_purpose(v1::MatmulMeasurement::PURPOSE_GRID);
  out.set_engine("onednn");
  return out;
}

v1::AttentionMeasurement AttentionOf(v1::DataType type, int i) {
  v1::AttentionMeasurement out;
  out.set_data_type(type);
  out.set_training_pass(v1::AttentionMeasurement::PASS_FORWARD);
  out.set_batch(1 + i % 4);
  out.set_sequence_length(256 * (1 + i / 4));
  out.set_heads(32);
  out.set_kv_heads(32);
  out.set_head_size(128);
  out.set_value_head_size(128);
  const double length = static_cast<double>(out.sequence_length());
  const double rate = 1.2e11 + 1e9 * (i % 37);
  TimeTo(4.0 * static_cast<double>(out.batch()) * 32 * 128 * length * length / rate,
         *out.mutable_time());
  out.set_flops_per_second(rate);
  out.set_engine("onednn");
  return out;
}

v1::Calibration CalibrationOf(int number, Measured measured) {
  v1::Calibration out = FullCalibration(absl::StrCat("GPU-", number));
  out.clear_matmuls();
  constexpr v1::DataType kTypes[] = {v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP32, v1::DATA_TYPE_INT8,
                                     v1::DATA_TYPE_FP16, v1::DATA_TYPE_FP64, v1::DATA_TYPE_TF32};
  for (int type = 0; type < measured.types; ++type) {
    for (int i = 0; i < measured.products; ++i) *out.add_matmuls() = ProductOf(kTypes[type], i);
    for (int i = 0; i < measured.attentions; ++i) {
      *out.add_attentions() = AttentionOf(kTypes[type], i);
    }
  }
  return out;
}

}  // namespace

v1::DeviceSelector CalibrationsOf(int count, Measured measured) {
  v1::DeviceSelector out;
  for (int i = 0; i < count; ++i) {
    *out.mutable_calibrations()->add_calibrations() = CalibrationOf(i, measured);
  }
  return out;
}

std::vector<std::pair<std::string, v1::DeviceSelector>> FullSelectors() {
  return {
      {"16 calibrations of 3 x 42 products", CalibrationsOf(16, {3, 42, 0})},
      {"16 calibrations of 450 products", CalibrationsOf(16, {1, 450, 0})},
      {"16 calibrations of 200 products and 200 attentions", CalibrationsOf(16, {1, 200, 200})},
      {"16 calibrations of 200 products and 64 attentions", CalibrationsOf(16, {1, 200, 64})},
      {"16 calibrations of 6 x 50 products", CalibrationsOf(16, {6, 50, 0})},
      {"1 calibration of 2,048 products and 512 attentions", CalibrationsOf(1, {1, 2048, 512})},
      {"2 calibrations of 6 x 200 products and 200 attentions", CalibrationsOf(2, {6, 200, 200})}};
}

}  // namespace sextant::server
