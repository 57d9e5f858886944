#include "tests/proto/text/sample_calibration.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sextant::text {
namespace {

// The samples of a time: a spread of 1 %, 12 samples, stable.
v1::TimeStatistics Time(double median_seconds) {
  v1::TimeStatistics time;
  time.set_median_seconds(median_seconds);
  time.set_relative_spread(0.01);
  time.set_p10_seconds(0.99 * median_seconds);
  time.set_p90_seconds(1.01 * median_seconds);
  time.set_sample_count(12);
  time.set_repetition_count(1);
  time.set_stable(true);
  return time;
}

// A cube of `size`: 2 size^3 FLOPs in `median_seconds`, the registers doing `registers`.
v1::MatmulMeasurement Cube(v1::DataType type, int64_t size, double median_seconds,
                           double registers) {
  v1::MatmulMeasurement matmul;
  matmul.set_data_type(type);
  matmul.set_m(size);
  matmul.set_n(size);
  matmul.set_k(size);
  *matmul.mutable_time() = Time(median_seconds);
  const auto cube = static_cast<double>(size * size * size);
  matmul.set_flops_per_second(2 * cube / median_seconds);
  matmul.set_register_ratio(matmul.flops_per_second() / registers);
  matmul.set_engine("onednn 2.6.3");
  matmul.set_kernel(type == v1::DATA_TYPE_BF16 ? "brgemm:avx512_core_bf16" : "");
  return matmul;
}

// FLOPs: 2 x 512^3 = 268,435,456 and 2 x 1024^3 = 2,147,483,648.
// bf16: in 1 ms 268.44 GFLOP/s, in 5 ms 429.50, sustained in 6.25 ms 343.60; of 500 GFLOP/s
// that is 53.69 %, 85.90 % and 68.72 %. fp32: in 2 ms 134.22 GFLOP/s, of 200 67.11 %.
void AddMatmuls(v1::Calibration* calibration) {
  *calibration->add_matmuls() = Cube(v1::DATA_TYPE_BF16, 512, 1e-3, 500e9);
  *calibration->add_matmuls() = Cube(v1::DATA_TYPE_FP32, 512, 2e-3, 200e9);
  *calibration->add_matmuls() = Cube(v1::DATA_TYPE_BF16, 1024, 5e-3, 500e9);
  v1::TimeStatistics* noisy = calibration->mutable_matmuls(1)->mutable_time();
  noisy->set_relative_spread(0.2);
  noisy->set_stable(false);
  *calibration->add_matmuls() = Cube(v1::DATA_TYPE_BF16, 1024, 6.25e-3, 500e9);
  calibration->mutable_matmuls(3)->set_window(v1::MatmulMeasurement::WINDOW_SUSTAINED);
  for (const v1::DataType type : {v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16}) {
    v1::RegisterMeasurement* registers = calibration->add_registers();
    const bool bf16 = type == v1::DATA_TYPE_BF16;
    registers->set_data_type(type);
    registers->set_instruction(bf16 ? "avx512_bf16 vdpbf16ps" : "avx512f vfmadd");
    registers->set_flops_per_second(bf16 ? 500e9 : 200e9);
    *registers->mutable_time() = Time(1e-3);
  }
}

void AddStream(v1::StreamMeasurement::Operation operation, int64_t array_bytes, int arrays,
               double median_seconds, v1::Calibration* calibration) {
  v1::StreamMeasurement* stream = calibration->add_streams();
  stream->set_operation(operation);
  stream->set_array_bytes(array_bytes);
  stream->set_main_memory(array_bytes >= (int64_t{1} << 30));
  *stream->mutable_time() = Time(median_seconds);
  stream->set_bytes_per_second(static_cast<double>(arrays * array_bytes) / median_seconds);
}

// `count` multiply-adds on each of the 2^26 elements of 256 MiB: 2^27 x count FLOPs, 2^29 bytes.
void AddStep(int64_t count, double median_seconds, v1::Calibration* calibration) {
  v1::ElementwiseMeasurement* step = calibration->add_elementwise();
  step->set_multiply_add_count(count);
  step->set_flops_per_byte(static_cast<double>(count) / 4);
  step->set_array_bytes(268435456);
  *step->mutable_time() = Time(median_seconds);
  step->set_flops_per_second(134217728.0 * static_cast<double>(count) / median_seconds);
  step->set_bytes_per_second(536870912.0 / median_seconds);
}

// Copy: 2 x 256 KiB in 10 us = 52.43 GB/s; 2 GiB in 0.1 s = 21.47. Triad: 3 GiB in 0.12 s =
// 26.84. Ladder: 2^29 B in 25 ms = 21.47 GB/s, 2^27 FLOP in it 5.37 GFLOP/s; 2^33 FLOP in
// 50 ms = 171.80, and 10.74 GB/s. Ridge: 171.80 / 21.47 = 8.
void AddMemory(v1::Calibration* calibration) {
  AddStream(v1::StreamMeasurement::OPERATION_COPY, 262144, 2, 1e-5, calibration);
  AddStream(v1::StreamMeasurement::OPERATION_COPY, int64_t{1} << 30, 2, 0.1, calibration);
  AddStream(v1::StreamMeasurement::OPERATION_TRIAD, int64_t{1} << 30, 3, 0.12, calibration);
  AddStep(1, 0.025, calibration);
  AddStep(64, 0.05, calibration);
  calibration->set_ridge_flops_per_byte(8);
  v1::FusionMeasurement* fusion = calibration->mutable_fusion();
  fusion->set_operation_count(4);
  fusion->set_array_bytes(268435456);
  *fusion->mutable_unfused_time() = Time(0.1);
  *fusion->mutable_fused_time() = Time(0.025);
  fusion->set_speedup_ratio(4);
}

}  // namespace

v1::Calibration SampleCalibration() {
  v1::Calibration calibration;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(R"pb(
                                                      schema_version: 2
                                                      device {
                                                        uuid: "CPU-0123456789abcdef"
                                                        kind: DEVICE_KIND_CPU
                                                        product_name: "Example 8-Core Processor"
                                                        hostname: "node7"
                                                        memory_bytes: 34359738368
                                                        cache_bytes: 33554432
                                                        compute_unit_count: 8
                                                        instruction_sets: "avx2"
                                                        instruction_sets: "avx512f"
                                                        instruction_sets: "avx512_bf16"
                                                      }
                                                      probe_version: "sextant-probe 0.1.0"
                                                      mode: PROBE_MODE_STANDARD
                                                      duration_seconds: 5.02
                                                      coverage_ratio: 1
                                                      drift_ratio: 0.012
                                                      checked_result_count: 12
                                                      notes: "Other programs ran meanwhile."
                                                    )pb",
                                                    &calibration));
  calibration.mutable_measured_time()->set_seconds(1'763'726'400);  // 2025-11-21 12:00:00 UTC
  AddMatmuls(&calibration);
  AddMemory(&calibration);
  return calibration;
}

}  // namespace sextant::text
