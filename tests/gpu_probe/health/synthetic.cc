#include "tests/gpu_probe/health/synthetic.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_probe/health/read_calibrations.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::probe {
namespace {

// Rates of the size of an H100's; no test depends on them.
constexpr double kBf16Rate = 700e12;
constexpr double kFp8Rate = 1400e12;
constexpr double kTf32Rate = 400e12;
constexpr double kMemoryRate = 3e12;
constexpr double kVectorRate = 50e12;

v1::TimeStatistics TimeOf(double seconds, const SyntheticGpu& gpu) {
  v1::TimeStatistics time;
  time.set_median_seconds(seconds);
  time.set_p10_seconds(seconds * (1 - gpu.half_range));
  time.set_p90_seconds(seconds * (1 + gpu.half_range));
  time.set_relative_spread(gpu.half_range);
  time.set_sample_count(12);
  time.set_repetition_count(10);
  time.set_stable(gpu.stable);
  return time;
}

struct MatmulRate {
  v1::DataType type = v1::DATA_TYPE_BF16;
  int64_t size = 0;
  double rate = 0;
};

v1::MatmulMeasurement MatmulOf(const MatmulRate& matmul, const SyntheticGpu& gpu) {
  v1::MatmulMeasurement m;
  m.set_data_type(matmul.type);
  m.set_m(matmul.size);
  m.set_n(matmul.size);
  m.set_k(matmul.size);
  const auto size = static_cast<double>(matmul.size);
  m.set_flops_per_second(matmul.rate);
  *m.mutable_time() = TimeOf(2 * size * size * size / matmul.rate, gpu);
  m.set_engine("cublaslt 13.1");
  m.set_register_ratio(0.8);
  return m;
}

void AddBurst(v1::DataType type, double rate, const SyntheticGpu& gpu, v1::Calibration* out) {
  *out->add_matmuls() = MatmulOf({.type = type, .size = 8192, .rate = rate}, gpu);
  if (gpu.mode == v1::PROBE_MODE_QUICK) return;
  *out->add_matmuls() = MatmulOf({.type = type, .size = 1024, .rate = rate * 0.6}, gpu);
}

void AddStream(v1::StreamMeasurement::Operation operation, double rate, const SyntheticGpu& gpu,
               v1::Calibration* out) {
  constexpr int64_t kArrayBytes = int64_t{1} << 30;
  v1::StreamMeasurement* const s = out->add_streams();
  s->set_operation(operation);
  s->set_array_bytes(kArrayBytes);
  s->set_main_memory(true);
  s->set_bytes_per_second(rate);
  const double arrays = operation == v1::StreamMeasurement::OPERATION_COPY ? 2 : 3;
  *s->mutable_time() = TimeOf(arrays * static_cast<double>(kArrayBytes) / rate, gpu);
}

void AddElementwise(int64_t multiply_adds, double bytes_per_second, const SyntheticGpu& gpu,
                    v1::Calibration* out) {
  constexpr int64_t kArrayBytes = int64_t{1} << 28;
  v1::ElementwiseMeasurement* const e = out->add_elementwise();
  e->set_multiply_add_count(multiply_adds);
  e->set_flops_per_byte(static_cast<double>(multiply_adds) / 4);
  e->set_array_bytes(kArrayBytes);
  e->set_bytes_per_second(bytes_per_second);
  e->set_flops_per_second(bytes_per_second * e->flops_per_byte());
  *e->mutable_time() = TimeOf(2 * static_cast<double>(kArrayBytes) / bytes_per_second, gpu);
}

}  // namespace

Speeds Everywhere(double speed) {
  Speeds speeds;
  speeds.fill(speed);
  return speeds;
}

Speeds Noisy(Speeds speeds, double deviation, std::mt19937_64& random) {
  std::normal_distribution<double> normal(1, deviation);
  for (double& speed : speeds) speed *= normal(random);
  return speeds;
}

v1::Calibration CalibrationOf(const SyntheticGpu& gpu) {
  v1::Calibration out;
  out.set_schema_version(2);
  out.mutable_device()->set_uuid(gpu.uuid);
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_product_name(gpu.product_name);
  out.mutable_device()->set_memory_bytes(int64_t{80} << 30);
  out.mutable_device()->set_compute_unit_count(132);
  if (gpu.power_limit_watts > 0) {
    out.mutable_device()->set_power_limit_watts(gpu.power_limit_watts);
  }
  out.mutable_measured_time()->set_seconds(gpu.unix_seconds);
  out.set_probe_version("0.1.0");
  out.set_mode(gpu.mode);
  out.set_duration_seconds(5);
  out.set_coverage_ratio(1);
  out.set_checked_result_count(100);
  const Speeds& speed = gpu.speeds;
  AddBurst(v1::DATA_TYPE_BF16, kBf16Rate * speed[kBf16], gpu, &out);
  AddBurst(v1::DATA_TYPE_FP8_E4M3, kFp8Rate * speed[kFp8], gpu, &out);
  AddBurst(v1::DATA_TYPE_TF32, kTf32Rate * speed[kTf32], gpu, &out);
  AddStream(v1::StreamMeasurement::OPERATION_COPY, kMemoryRate * speed[kCopy], gpu, &out);
  if (gpu.mode == v1::PROBE_MODE_QUICK) return out;
  AddMatmulAs(MatmulOf({.type = v1::DATA_TYPE_BF16,
                        .size = 8192,
                        .rate = 0.9 * kBf16Rate * speed[kBf16Sustained]},
                       gpu),
              v1::MatmulMeasurement::WINDOW_SUSTAINED, v1::MatmulMeasurement::PURPOSE_GRID, &out);
  AddStream(v1::StreamMeasurement::OPERATION_TRIAD, kMemoryRate * speed[kTriad], gpu, &out);
  AddElementwise(1, kMemoryRate * speed[kElementwiseBandwidth], gpu, &out);
  AddElementwise(128, kVectorRate / 32 * speed[kElementwiseArithmetic], gpu, &out);
  return out;
}

v1::Calibration Without(v1::DataType type, v1::Calibration calibration) {
  RemoveMatmuls([type](const v1::MatmulMeasurement& m) { return m.data_type() == type; },
                &calibration);
  return calibration;
}

std::vector<SyntheticGpu> Node() {
  std::vector<SyntheticGpu> gpus(8);
  for (size_t i = 0; i < gpus.size(); ++i) gpus[i].uuid = absl::StrCat("GPU-", i);
  return gpus;
}

std::vector<SyntheticGpu> WithHistory(const SyntheticGpu& gpu, const Speeds& before, int count) {
  std::vector<SyntheticGpu> all;
  for (int i = count; i > 0; --i) {
    all.push_back(gpu);
    all.back().speeds = before;
    all.back().unix_seconds -= i * kDay / 2;
  }
  all.push_back(gpu);
  return all;
}

MeasuredDevice Measured(const v1::Calibration& calibration) {
  return MeasuredFrom(calibration, HealthLimits().limit_tolerance);
}

std::vector<DeviceVerdict> VerdictsOver(const std::vector<v1::Calibration>& calibrations,
                                        const HealthLimits& limits) {
  std::vector<MeasuredDevice> measured;
  for (const v1::Calibration& c : calibrations) measured.push_back(Measured(c));
  return JudgeDevices(GroupByDevice(std::move(measured)),
                      {.limits = limits, .now_unix_seconds = kNow});
}

std::vector<DeviceVerdict> VerdictsOver(const std::vector<SyntheticGpu>& gpus,
                                        const HealthLimits& limits) {
  std::vector<v1::Calibration> calibrations;
  for (const SyntheticGpu& gpu : gpus) calibrations.push_back(CalibrationOf(gpu));
  return VerdictsOver(calibrations, limits);
}

}  // namespace sextant::probe
