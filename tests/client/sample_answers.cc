#include "tests/client/sample_answers.h"

#include "tests/client/fixture.h"

namespace sextant::client {
namespace {

void SetInterval(double low, double expected, double high, v1::Interval* interval) {
  interval->set_low(low);
  interval->set_expected(expected);
  interval->set_high(high);
}

v1::StageMemory StageOf(int64_t stage, double activations) {
  v1::StageMemory out;
  out.set_stage(stage);
  out.set_layer_count(2);
  out.set_parameter_count(1'000'000'000);
  out.set_peak_phase(v1::PEAK_PHASE_LAYER_BACKWARD);
  out.add_micro_batches_in_flight(1);
  int64_t total = 0;
  int kind = v1::LEDGER_KIND_WEIGHT;
  for (const double gib : {8.0, 8.0, 8.0, 8.0, activations, 1.0, 0.5, 2.5}) {
    v1::LedgerSum* sum = out.add_sums();
    sum->set_kind(static_cast<v1::LedgerKind>(kind++));
    sum->set_size_bytes(static_cast<int64_t>(gib * kGibibyte));
    total += sum->size_bytes();
  }
  out.set_total_bytes(total);
  SetInterval(static_cast<double>(total - kGibibyte), static_cast<double>(total),
              static_cast<double>(total + 2 * kGibibyte), out.mutable_process_bytes());
  return out;
}

}  // namespace

v1::PlanRunResponse SamplePlan(v1::Verdict verdict) {
  v1::PlanRunResponse response = FromText<v1::PlanRunResponse>(R"pb(
    plan {
      model_name: "toy"
      device: "h100-sxm"
      device_count: 8
      token_count: 20000000000
      parameters { total: 1000000000 non_embedding: 800000000 }
      memory {
        scope: MEMORY_SCOPE_MODEL_STATE
        peak_bytes { low: 3e9 expected: 3e9 high: 3e9 }
        headroom_bytes { low: 77e9 expected: 77e9 high: 77e9 }
        capacity { usable_bytes: 80000000000 }
        state { minimum_device_count: 1 }
      }
    }
    engine_version: "0.1.0"
    rates_fingerprint: "c0ffee"
  )pb");
  response.mutable_plan()->set_verdict(verdict);
  return response;
}

void SetDeadline(double margin_seconds, double chance, v1::Plan* plan) {
  plan->mutable_whole_run()->set_basis(v1::ESTIMATE_KIND_PREDICTED);
  if (plan->estimates().empty()) plan->add_estimates();
  v1::TimeEstimate& estimate = *plan->mutable_estimates(0);
  estimate.set_kind(v1::ESTIMATE_KIND_PREDICTED);
  v1::LimitCheck& deadline = *estimate.mutable_deadline();
  deadline.set_verdict(margin_seconds < 0 ? v1::LimitCheck::VERDICT_MISSED
                                          : v1::LimitCheck::VERDICT_MET);
  deadline.set_margin(margin_seconds);
  deadline.set_chance(chance);
}

v1::PlanRunResponse SampleStages(int count, int64_t usable, v1::Verdict verdict) {
  v1::PlanRunResponse response = SamplePlan(verdict);
  v1::Memory& memory = *response.mutable_plan()->mutable_memory();
  memory.clear_state();
  memory.set_scope(v1::MEMORY_SCOPE_LAYOUT);
  for (int i = 0; i < count; ++i) *memory.add_stages() = StageOf(i, 20.0 * (count - i) / count);
  const v1::Interval& used = memory.stages(0).process_bytes();
  const auto bytes = static_cast<double>(usable * kGibibyte);
  *memory.mutable_peak_bytes() = used;
  memory.mutable_capacity()->set_usable_bytes(usable * kGibibyte);
  SetInterval(bytes - used.high(), bytes - used.expected(), bytes - used.low(),
              memory.mutable_headroom_bytes());
  return response;
}

v1::PlanRunResponse SampleStep() {
  v1::PlanRunResponse response = SamplePlan();
  *response.mutable_plan()->mutable_step_time() = FromText<v1::StepTime>(R"pb(
    seconds { expected: 10 low: 9 high: 12 }
    parts { cause: STEP_CAUSE_MATMUL seconds: 6 share: 0.6 }
    parts { cause: STEP_CAUSE_ATTENTION seconds: 1.5 share: 0.15 }
    parts { cause: STEP_CAUSE_MEMORY_PASS seconds: 0.5 share: 0.05 }
    parts { cause: STEP_CAUSE_TENSOR_EXCHANGE seconds: 1 share: 0.1 }
    parts { cause: STEP_CAUSE_PIPELINE_BUBBLE seconds: 0.8 share: 0.08 }
    parts { cause: STEP_CAUSE_DATA_EXCHANGE seconds: 0.004 share: 0.0004 }
    parts { cause: STEP_CAUSE_OPTIMIZER seconds: 0.196 share: 0.0196 }
    micro_batch_count: 64
    token_count: 1000000
    software_stack: "toy_stack"
    sensitivities { rate: RATE_ARITHMETIC saved_share: 0.068 }
  )pb");
  return response;
}

v1::Plan PlanWithFront(const std::vector<std::pair<double, double>>& points) {
  v1::Plan plan = SampleStages(1).plan();
  plan.mutable_search()->set_tie_ratio(0.03);
  for (const auto& [seconds, gib] : points) {
    v1::LayoutOption& option = *plan.mutable_search()->add_front();
    SetInterval(0.9 * seconds, seconds, 1.2 * seconds, option.mutable_step_seconds());
    const double bytes = gib * static_cast<double>(kGibibyte);
    SetInterval(0.9 * bytes, bytes, 1.2 * bytes, option.mutable_peak_bytes());
    option.set_fit_chance(1);
    option.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(1);
    option.mutable_layout()->set_micro_batch_size(1);
  }
  if (!points.empty()) *plan.mutable_search()->mutable_chosen() = plan.search().front(0);
  return plan;
}

v1::Plan SampleFront() {
  v1::Plan plan = PlanWithFront({{10, 70}, {12, 60}, {20, 30}});
  v1::LayoutSearchResult& search = *plan.mutable_search();
  search.mutable_front(0)->set_tie(true);
  *search.mutable_chosen() = search.front(0);
  *search.mutable_front(1)->mutable_layout() = FromText<v1::RunLayout>(R"pb(
    parallel { tensor_parallel_size: 4 pipeline_parallel_size: 2 }
    context_parallel_size: 2
    micro_batch_size: 1
    sequence_parallel: true
    sharding { zero_stage: ZERO_STAGE_OPTIMIZER }
    kernels { recompute_norm_outputs: true }
  )pb");
  return plan;
}

v1::AnalyzeOperationResponse SampleRoofline(const std::vector<double>& flops_per_second,
                                            double bytes_per_second) {
  v1::AnalyzeOperationResponse response;
  response.set_name("toy");
  v1::OperationTime& time = *response.mutable_time();
  time.mutable_forward()->set_ridge_flops_per_byte(100);
  const auto add = [&time](const char* quantity, const char* unit, double value) {
    v1::RateUsed& rate = *time.add_rates();
    rate.set_quantity(quantity);
    rate.set_unit(unit);
    rate.set_value(value);
  };
  for (size_t i = 0; i < flops_per_second.size(); ++i) {
    add(i == 0 ? "peak_flops_per_second" : "general_flops_per_second", "FLOP/s",
        flops_per_second[i]);
  }
  add("memory_bandwidth", "byte/s", bytes_per_second);
  return response;
}

void SetForward(double intensity, double flops_per_second, v1::AnalyzeOperationResponse* response) {
  v1::CostSum& sum = *response->mutable_forward()->mutable_sum();
  sum.set_arithmetic_intensity(intensity);
  sum.set_matrix_flops(flops_per_second);
  response->mutable_time()->mutable_forward()->set_total_seconds(1);
}

v1::GetCalibrationResponse SampleHeldCalibration() {
  v1::GetCalibrationResponse response;
  *response.mutable_calibration() = SampleCalibration();
  response.set_age_seconds(3 * 3600);
  response.set_fingerprint("c0ffee");
  response.set_engine_version("0.1.0");
  return response;
}

v1::RunProbeResponse SampleProbeResult() {
  v1::RunProbeResponse response;
  *response.mutable_result()->mutable_calibration() = SampleCalibration();
  response.mutable_result()->set_fingerprint("c0ffee");
  response.mutable_result()->set_in_use(true);
  response.mutable_result()->set_engine_version("0.1.0");
  return response;
}

v1::RunProbeResponse SampleProgress() {
  return FromText<v1::RunProbeResponse>(R"pb(
    progress {
      phase: "matmul bf16"
      fraction: 0.5
      elapsed_seconds: 2.5
      figure: "bf16 1024x1024x1024: 429.5 GFLOP/s"
    }
  )pb");
}

v1::ListDevicesResponse SampleDevices() {
  v1::ListDevicesResponse response = FromText<v1::ListDevicesResponse>(R"pb(
    devices { age_seconds: 10800 fingerprint: "c0ffee" }
    devices {
      device {
        uuid: "GPU-00000000-0000-0000-0000-000000000001"
        kind: DEVICE_KIND_GPU
        product_name: "NVIDIA H100 80GB HBM3"
        hostname: "node7"
        memory_bytes: 85899345920
        compute_unit_count: 132
        power_limit_watts: 700
        pci_bus_id: "0000:1a:00.0"
        accelerator: "h100-sxm"
      }
    }
    engine_version: "0.1.0"
  )pb");
  v1::ListDevicesResponse::Entry* processor = response.mutable_devices(0);
  *processor->mutable_device() = SampleCalibration().device();
  *processor->mutable_measured_time() = SampleCalibration().measured_time();
  return response;
}

}  // namespace sextant::client
