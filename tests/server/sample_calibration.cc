#include "tests/server/sample_calibration.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sextant::server {
namespace {

// Statistics of a time of one millisecond.
constexpr char kMillisecond[] =
    "time { median_seconds: 0.001 relative_spread: 0.01 p10_seconds: 0.00099 "
    "p90_seconds: 0.00102 sample_count: 12 repetition_count: 3 stable: true }";

std::string Text() {
  const std::string time = kMillisecond;
  return R"(
    schema_version: 2
    device { kind: DEVICE_KIND_CPU product_name: "Some Processor 9000" hostname: "node-7"
      memory_bytes: 64000000000 cache_bytes: 33554432 compute_unit_count: 8
      instruction_sets: "avx2" instruction_sets: "avx512_bf16" pci_bus_id: "0000:3b:00.0" }
    measured_time { seconds: 1769860800 nanos: 5 }
    probe_version: "sextant-probe 0.1.0"
    mode: PROBE_MODE_STANDARD
    duration_seconds: 4.8
    coverage_ratio: 1
    drift_ratio: -0.01
    matmuls { data_type: DATA_TYPE_BF16 m: 1000 n: 1000 k: 1000 flops_per_second: 2e12
      window: WINDOW_BURST purpose: PURPOSE_GRID
      engine: "onednn 2.6.3" kernel: "brgemm" register_ratio: 0.8 )" +
         time + R"( }
    matmuls { data_type: DATA_TYPE_FP32 m: 1000 n: 1000 k: 500 flops_per_second: 1e12
      engine: "builtin" )" +
         time + R"( }
    matmuls { data_type: DATA_TYPE_FP32 m: 1000 n: 1000 k: 1500 flops_per_second: 3e12
      engine: "builtin" window: WINDOW_BURST purpose: PURPOSE_REQUESTED )" +
         time + R"( }
    matmuls { data_type: DATA_TYPE_BF16 m: 1000 n: 1000 k: 800
      window: WINDOW_SUSTAINED purpose: PURPOSE_GRID
      flops_per_second: 1.6e12 engine: "onednn 2.6.3" )" +
         time + R"( }
    registers { data_type: DATA_TYPE_BF16 instruction: "avx512_bf16 vdpbf16ps"
      flops_per_second: 2.5e12 )" +
         time + R"( }
    streams { operation: OPERATION_TRIAD array_bytes: 10000000 main_memory: true
      bytes_per_second: 3e10 )" +
         time + R"( }
    elementwise { multiply_add_count: 4 flops_per_byte: 1 array_bytes: 10000000
      flops_per_second: 2e10 bytes_per_second: 2e10 )" +
         time + R"( }
    ridge_flops_per_byte: 40
    fusion { operation_count: 4 array_bytes: 10000000 speedup_ratio: 3
      unfused_time { median_seconds: 0.003 p10_seconds: 0.003 p90_seconds: 0.003
        sample_count: 5 repetition_count: 1 }
      fused_)" +
         time + R"( }
    attentions { data_type: DATA_TYPE_BF16 pass: PASS_FORWARD batch: 1 sequence_length: 1000
      heads: 8 kv_heads: 2 head_size: 64 value_head_size: 64 causal: true window: 100
      flops_per_second: 194662400000 engine: "onednn 2.6.3" )" +
         time + R"( }
    experts { data_type: DATA_TYPE_BF16 tokens: 1000 hidden_size: 10 feed_forward_size: 20
      expert_count: 4 experts_per_token: 2 expert_parallel_size: 2 gated: true
      flops_per_second: 1.2e9 engine: "onednn 2.6.3" )" +
         time + R"( }
    collectives { operation: COLLECTIVE_OPERATION_ALL_GATHER rank_count: 4 size_bytes: 1000000
      bus_bytes_per_second: 7.5e8 engine: "nccl 2.28.3" )" +
         time + R"( }
    host_copies { direction: DIRECTION_HOST_TO_DEVICE pageable: true size_bytes: 1000000
      bytes_per_second: 1e9 )" +
         time + R"( }
    matmuls { data_type: DATA_TYPE_FP8_E4M3 m: 500 n: 500 k: 500 batch_count: 4
      layout: LAYOUT_ROW_BY_ROW window: WINDOW_BURST purpose: PURPOSE_OTHER
      fast_accumulation: true flops_per_second: 1e12
      best_flops_per_second: 1.25e12 best_kernel: "tile 128x256" engine: "cublaslt 13.1"
      sm_clock_hertz: 1.7e9 counted_sm_clock_hertz: 1.69e9 power_watts: 650
      clock_limit_ratio: 0.8 )" +
         time + R"( }
    launches { kind: KIND_GRAPH )" +
         time + R"( }
    conditions { reading_count: 40 sm_clock_hertz: 1.7e9 maximum_sm_clock_hertz: 1.98e9
      power_watts: 650 maximum_temperature_celsius: 66 power_throttle_ratio: 0.5
      thermal_throttle_ratio: 0 hardware_throttle_ratio: 0 peak_allocated_bytes: 1000000000 }
    missing { phase: "matmul fp8" missing_count: 3 planned_count: 92 }
    checked_result_count: 24
    notes: "The processor was quiet.")";
}

}  // namespace

v1::Calibration SampleCalibration(const std::string& uuid) {
  v1::Calibration out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(Text(), &out));
  out.mutable_device()->set_uuid(uuid);
  return out;
}

}  // namespace sextant::server
