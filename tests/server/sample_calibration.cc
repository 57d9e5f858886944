#include "tests/server/sample_calibration.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sextant {
namespace {

// Of one millisecond.
constexpr char kMillisecond[] =
    "time { median_seconds: 0.001 relative_spread: 0.01 p10_seconds: 0.00099 "
    "p90_seconds: 0.00102 sample_count: 12 repetition_count: 3 stable: true }";

std::string Text() {
  const std::string time = kMillisecond;
  return R"(
    schema_version: 1
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
      engine: "onednn 2.6.3" kernel: "brgemm" register_ratio: 0.8 )" +
         time + R"( }
    matmuls { data_type: DATA_TYPE_FP32 m: 1000 n: 1000 k: 500 flops_per_second: 1e12
      engine: "builtin" )" +
         time + R"( }
    matmuls { data_type: DATA_TYPE_FP32 m: 1000 n: 1000 k: 1500 flops_per_second: 3e12
      engine: "builtin" requested: true )" +
         time + R"( }
    sustained_matmuls { data_type: DATA_TYPE_BF16 m: 1000 n: 1000 k: 800
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

}  // namespace sextant
