#include "tests/benchmarks/service_requests.h"

namespace sextant {
namespace {

v1::PlanRunRequest LaidOut(const char* preset, int64_t devices, int64_t tensor, int64_t pipeline) {
  v1::PlanRunRequest request = PresetPlan();
  request.mutable_model()->set_preset(preset);
  request.mutable_training()->set_sequence_length(8192);
  request.mutable_cluster()->set_device_count(devices);
  request.mutable_cluster()->set_node_type("dgx-h100");
  v1::RunLayout& layout = *request.mutable_layout();
  layout.set_global_batch_size(devices);
  layout.mutable_parallel()->set_tensor_parallel_size(tensor);
  layout.mutable_parallel()->set_pipeline_parallel_size(pipeline);
  layout.mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_OPTIMIZER);
  layout.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  request.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return request;
}

constexpr int kShapesPerType = 42;
constexpr int kStreamCount = 25;
constexpr int kElementwiseCount = 10;
constexpr int64_t kArrayBytes = 268'435'456;

v1::TimeStatistics Time(double median_seconds) {
  v1::TimeStatistics out;
  out.set_median_seconds(median_seconds);
  out.set_relative_spread(0.0123);
  out.set_p10_seconds(0.98 * median_seconds);
  out.set_p90_seconds(1.03 * median_seconds);
  out.set_sample_count(24);
  out.set_repetition_count(3);
  out.set_stable(true);
  return out;
}

v1::MatmulMeasurement Matmul(v1::DataType type, int64_t m) {
  v1::MatmulMeasurement out;
  out.set_data_type(type);
  out.set_m(m);
  out.set_n(1024);
  out.set_k(4096);
  out.set_window(v1::MatmulMeasurement::WINDOW_BURST);
  out.set_purpose(v1::MatmulMeasurement::PURPOSE_GRID);
  const double rate = 1.2345e11 + 1e9 * static_cast<double>(m % 37);
  *out.mutable_time() = Time(2.0 * 1024 * 4096 * static_cast<double>(m) / rate);
  out.set_flops_per_second(rate);
  out.set_engine("onednn 2.6.3");
  out.set_kernel("brgemm:avx512_core_bf16");
  out.set_register_ratio(0.789);
  return out;
}

void AddMatmuls(v1::Calibration* out) {
  for (const v1::DataType type : {v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16, v1::DATA_TYPE_INT8}) {
    for (int64_t i = 1; i <= kShapesPerType; ++i) *out->add_matmuls() = Matmul(type, 64 * i);
    *out->add_matmuls() = Matmul(type, 2048);
    out->mutable_matmuls()->rbegin()->set_window(v1::MatmulMeasurement::WINDOW_SUSTAINED);
    v1::RegisterMeasurement* registers = out->add_registers();
    registers->set_data_type(type);
    registers->set_instruction("avx512_bf16 vdpbf16ps");
    registers->set_flops_per_second(2e11);
    *registers->mutable_time() = Time(0.001);
  }
}

void AddMemory(v1::Calibration* out) {
  for (int i = 0; i < kStreamCount; ++i) {
    v1::StreamMeasurement* stream = out->add_streams();
    stream->set_operation(v1::StreamMeasurement::OPERATION_COPY);
    stream->set_array_bytes(kArrayBytes);
    stream->set_main_memory(true);
    *stream->mutable_time() = Time(0.03);
    stream->set_bytes_per_second(2 * static_cast<double>(kArrayBytes) / 0.03);
  }
  for (int i = 1; i <= kElementwiseCount; ++i) {
    v1::ElementwiseMeasurement* step = out->add_elementwise();
    step->set_multiply_add_count(i);
    step->set_flops_per_byte(i / 4.0);
    step->set_array_bytes(kArrayBytes);
    *step->mutable_time() = Time(0.03);
    step->set_bytes_per_second(2 * static_cast<double>(kArrayBytes) / 0.03);
    step->set_flops_per_second(i / 4.0 * step->bytes_per_second());
  }
}

}  // namespace

v1::PlanRunRequest PresetPlan() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_preset("llama-3.1-70b");
  request.mutable_training()->set_token_count(15'000'000'000'000);
  request.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  request.mutable_cluster()->set_device_count(1024);
  return request;
}

v1::PlanRunRequest Llama70bLayout() { return LaidOut("llama-3.1-70b", 64, 8, 4); }

v1::PlanRunRequest Llama405bLayout() { return LaidOut("llama-3.1-405b", 896, 8, 14); }

v1::PlanRunRequest DeepSeekLayout() {
  v1::PlanRunRequest request = LaidOut("deepseek-v3", 2048, 1, 16);
  v1::ParallelLayout& sizes = *request.mutable_layout()->mutable_parallel();
  sizes.set_expert_parallel_size(64);
  for (int i = 0; i < 16; ++i) sizes.add_layers_per_chunk(i < 13 ? 4 : 3);
  return request;
}

v1::PlanRunRequest Recomputing(v1::PlanRunRequest request) {
  request.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  return request;
}

v1::PlanRunRequest OpenPlan() {
  v1::PlanRunRequest request = LaidOut("llama-3.1-70b", 512, 1, 1);
  request.mutable_layout()->clear_parallel();
  request.mutable_layout()->clear_sharding();
  request.mutable_options()->clear_search();
  return request;
}

v1::Calibration FullCalibration(const std::string& uuid) {
  v1::Calibration out;
  out.set_schema_version(2);
  out.mutable_device()->set_uuid(uuid);
  out.mutable_device()->set_kind(v1::DEVICE_KIND_CPU);
  out.mutable_device()->set_product_name("Some Processor 9000");
  out.mutable_device()->set_memory_bytes(2'000'000'000'000);
  out.mutable_measured_time()->set_seconds(1'769'860'800);
  out.set_probe_version("sextant-probe 0.1.0");
  out.set_mode(v1::PROBE_MODE_FULL);
  out.set_duration_seconds(30);
  out.set_coverage_ratio(1);
  out.set_checked_result_count(500);
  AddMatmuls(&out);
  AddMemory(&out);
  return out;
}

}  // namespace sextant
