#include "tests/client/sample_plan.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace sextant::client {
namespace {

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

// FLOPs: 6 x 1e9 x 20e9 = 1.2e20; without embeddings 6 x 0.8e9 x 20e9 = 9.6e19.
void SetModel(v1::Plan& plan) {
  *plan.mutable_parameters() = FromText<v1::ParameterCounts>(R"pb(
    total: 1000000000
    embedding: 200000000
    non_embedding: 800000000
    components { name: "token_embedding" parameter_count: 200000000 embedding: true }
    components { name: "feed_forward" parameter_count: 800000000 }
  )pb");
  *plan.mutable_flops() = FromText<v1::TrainingFlops>(R"pb(
    counts { convention: FLOPS_CONVENTION_SIX_N_TOTAL flops_per_token: 6e9 flops: 1.2e20 }
    counts { convention: FLOPS_CONVENTION_SIX_N_NON_EMBEDDING flops_per_token: 4.8e9 flops: 9.6e19 }
    convention_used: FLOPS_CONVENTION_SIX_N_TOTAL
  )pb");
}

v1::ModelState::Term Term(const char* name, v1::DataType type, int64_t bytes_per_parameter) {
  v1::ModelState::Term term;
  term.set_name(name);
  term.set_data_type(type);
  term.set_bytes_per_parameter(static_cast<double>(bytes_per_parameter));
  term.set_size_bytes(bytes_per_parameter * 1'000'000'000);
  return term;
}

// 2 + 2 + 4 + 4 + 4 = 16 bytes a parameter; 16e9 / 8 = 2e9 a device. 8 x 80e9 / 16 = 40e9
// parameters.
void SetStateAlone(v1::Memory& memory) {
  memory.set_scope(v1::MEMORY_SCOPE_MODEL_STATE);
  *memory.mutable_peak_bytes() = Exactly(2e9);
  *memory.mutable_headroom_bytes() = Exactly(78e9);
  v1::DeviceCapacity& capacity = *memory.mutable_capacity();
  capacity.set_capacity_bytes(80'000'000'000);
  capacity.set_source(v1::CAPACITY_SOURCE_NOMINAL);
  capacity.set_nominal_bytes(80'000'000'000);
  capacity.set_usable_bytes(80'000'000'000);
  v1::ModelState& state = *memory.mutable_state();
  *state.add_terms() = Term("weight", v1::DATA_TYPE_BF16, 2);
  *state.add_terms() = Term("gradient", v1::DATA_TYPE_BF16, 2);
  for (const char* name : {"master_weight", "first_moment", "second_moment"}) {
    *state.add_terms() = Term(name, v1::DATA_TYPE_FP32, 4);
  }
  state.set_state_bytes(16'000'000'000);
  state.set_total_bytes(16'000'000'000);
  state.set_minimum_device_count(1);
  state.set_largest_parameter_count(40'000'000'000);
}

// Time: 1.2e20 / 8e15 = 15000 s, and 37500 s at 0.4.
// Energy: 8 x 700 W x 15000 s = 8.4e7 J, and 2.1e8 J.
void SetTimes(v1::Plan& plan) {
  *plan.add_estimates() = FromText<v1::TimeEstimate>(R"pb(
    kind: ESTIMATE_KIND_LOWER_BOUND
    duration_seconds { expected: 15000 low: 15000 high: 15000 }
    elapsed_seconds { expected: 15000 low: 15000 high: 15000 }
    mfu: 1
    mfu_basis: MFU_BASIS_FULL_PEAK
    device_hours: 33.333333
    tokens_per_second: 1333333.3
    cost_usd: 66.666667
    energy_joules: 8.4e7
  )pb");
  *plan.add_estimates() = FromText<v1::TimeEstimate>(R"pb(
    kind: ESTIMATE_KIND_TEXTBOOK
    duration_seconds { expected: 37500 low: 37500 high: 37500 }
    elapsed_seconds { expected: 37500 low: 37500 high: 37500 }
    mfu: 0.4
    mfu_basis: MFU_BASIS_ASSUMED
    device_hours: 83.333333
    tokens_per_second: 533333.33
    cost_usd: 166.666667
    energy_joules: 2.1e8
  )pb");
  *plan.add_rates() = FromText<v1::RateUsed>(R"pb(
    quantity: "peak_flops_per_second"
    data_type: DATA_TYPE_BF16
    value: 1e15
    unit: "FLOP/s"
    source: RATE_SOURCE_DATASHEET
    source_number: 1
    device: "h100-sxm"
  )pb");
  *plan.add_rates() = FromText<v1::RateUsed>(R"pb(
    quantity: "device_power_watts"
    value: 700
    unit: "W"
    source: RATE_SOURCE_REQUEST
    source_number: 3
  )pb");
}

void SetNotes(v1::Plan& plan) {
  *plan.add_warnings() = FromText<v1::Note>(R"pb(
    kind: NOTE_KIND_ACTIVATIONS_NOT_COUNTED
    subject: NOTE_SUBJECT_MEMORY
    fields: "layout"
    fields: "training.activation_bytes"
    text: "Activations are not counted, so the run may need much more memory: give layout to have "
          "them counted, or training.activation_bytes."
  )pb");
  *plan.add_assumptions() = FromText<v1::Note>(R"pb(
    kind: NOTE_KIND_SHARED_EVENLY
    subject: NOTE_SUBJECT_MEMORY
    fields: "layout"
    text: "Memory is divided evenly over all devices, as ZeRO stage 3 keeps it between "
          "gathers: give layout to count what is gathered."
  )pb");
  *plan.add_assumptions() = FromText<v1::Note>(R"pb(
    kind: NOTE_KIND_NOTHING_RESERVED
    subject: NOTE_SUBJECT_MEMORY
    fields: "cluster.reserved_memory_bytes"
    text: "No device memory is reserved: give cluster.reserved_memory_bytes to reserve some."
  )pb");
  *plan.add_assumptions() = FromText<v1::Note>(R"pb(
    kind: NOTE_KIND_NOTHING_FAILS
    subject: NOTE_SUBJECT_TIME
    text: "Failures take no time."
  )pb");
}

}  // namespace

v1::PlanRunRequest SampleRequest() {
  return FromText<v1::PlanRunRequest>(R"pb(
    model { preset: "toy" }
    training { token_count: 20000000000 activation_bytes: 8000000000 }
    cluster {
      device { accelerator: "h100-sxm" }
      device_count: 8
    }
    economics { device_hour_price_usd: 2 device_power_watts: 700 }
  )pb");
}

v1::PlanRunResponse SampleOfModelState() {
  v1::PlanRunResponse response = FromText<v1::PlanRunResponse>(R"pb(
    plan {
      verdict: VERDICT_STATE_FITS
      model_name: "toy"
      device: "h100-sxm"
      device_count: 8
      token_count: 20000000000
      derivation {
        symbol: "memory.state.state_bytes"
        formula: "bytes_per_parameter * parameters"
        substitution: "16 * 1000000000"
        value: 16e9
        unit: "byte"
        source_number: 2
      }
      sources: "a datasheet"
      sources: "sum of declared terms"
      sources: "economics.device_power_watts"
    }
    engine_version: "0.1.0"
    rates_fingerprint: "c0ffee"
  )pb");
  v1::Plan& plan = *response.mutable_plan();
  SetModel(plan);
  SetStateAlone(*plan.mutable_memory());
  SetTimes(plan);
  SetNotes(plan);
  return response;
}

// 16e9 + 8e9 = 24e9 bytes, 3e9 a device; 80e9 - 3e9 = 77e9. (8 x 80e9 - 8e9) / 16 = 39.5e9
// parameters.
v1::PlanRunResponse SampleResponse() {
  v1::PlanRunResponse response = SampleOfModelState();
  v1::Plan& plan = *response.mutable_plan();
  plan.set_verdict(v1::VERDICT_FITS);
  v1::Memory& memory = *plan.mutable_memory();
  memory.set_scope(v1::MEMORY_SCOPE_MODEL_STATE_AND_GIVEN_ACTIVATIONS);
  *memory.mutable_peak_bytes() = Exactly(3e9);
  *memory.mutable_headroom_bytes() = Exactly(77e9);
  memory.mutable_state()->set_activation_bytes(8'000'000'000);
  memory.mutable_state()->set_total_bytes(24'000'000'000);
  memory.mutable_state()->set_largest_parameter_count(39'500'000'000);
  plan.clear_warnings();
  return response;
}

v1::PlanRunResponse SampleThatDoesNotFit() {
  v1::PlanRunResponse response = SampleOfModelState();
  response.mutable_plan()->set_verdict(v1::VERDICT_DOES_NOT_FIT);
  v1::Memory& memory = *response.mutable_plan()->mutable_memory();
  *memory.mutable_peak_bytes() = Exactly(16e9);
  *memory.mutable_headroom_bytes() = Exactly(-6e9);
  memory.mutable_capacity()->set_capacity_bytes(10'000'000'000);
  memory.mutable_capacity()->set_usable_bytes(10'000'000'000);
  memory.mutable_state()->set_minimum_device_count(2);
  memory.mutable_state()->set_largest_parameter_count(625'000'000);
  return response;
}

// 20e9 tokens are 20,000 steps of 10 s: 200,000 s, 2.3148 days (2.0833 to 2.7778); MFU
// 15,000 / 200,000. 8 devices: 444.44 device-hours. 8 x 700 W x 200,000 s = 1.12e9 J.
v1::PlanRunResponse SampleOfStep() {
  v1::PlanRunResponse response = SampleResponse();
  v1::Plan& plan = *response.mutable_plan();
  *plan.mutable_step_time() = FromText<v1::StepTime>(R"pb(
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
    bubble_ratio: 0.081
    slowest_stage: 1
    software_stack: "toy_stack"
    sensitivities { rate: RATE_ARITHMETIC saved_share: 0.068 }
    sensitivities { rate: RATE_LINK saved_share: 0.009 }
    sensitivities { rate: RATE_NETWORK saved_share: 0.0004 }
    longest_operations {
      module: "feed_forward"
      name: "up"
      pass: OPERATION_PASS_WEIGHT_GRADIENT
      bound: BOUND_ARITHMETIC
      seconds: 2.5
      share: 0.25
      flops_per_second: 612e12
      launches: 24
    }
    longest_operations {
      module: "attention"
      name: "gather"
      pass: OPERATION_PASS_FORWARD
      bound: BOUND_EXCHANGE
      seconds: 0.75
      share: 0.075
      launches: 12
    }
    kernel_sources { source: RATE_SOURCE_REFERENCE share: 0.75 source_number: 2 }
    kernel_sources {
      source: RATE_SOURCE_MEASURED_DEVICE
      share: 0.25
      source_number: 1
      measured_time { seconds: 1763726400 }
    }
    assumptions { field: "attention_time_ratio" value: 1.4 source_number: 2 }
    assumptions { field: "growth_per_doubling" value: 0.002 from_request: true }
    assumptions { field: "one_copy_per_node" value: 1 source_number: 2 }
  )pb");
  *plan.mutable_estimates()->Add() = FromText<v1::TimeEstimate>(R"pb(
    kind: ESTIMATE_KIND_PREDICTED
    duration_seconds { expected: 200000 low: 180000 high: 240000 }
    elapsed_seconds { expected: 200000 low: 180000 high: 240000 }
    mfu: 0.075
    mfu_basis: MFU_BASIS_PREDICTED
    device_hours: 444.444444
    tokens_per_second: 100000
    cost_usd: 888.888889
    energy_joules: 1.12e9
  )pb");
  plan.mutable_memory()->set_data_parallel_size(2);
  plan.mutable_memory()->set_micro_batch_count(64);
  return response;
}

v1::PlanRunRequest SampleStepRequest() {
  v1::PlanRunRequest request = SampleRequest();
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(2);
  request.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(2);
  return request;
}

v1::PlanRunResponse BasicView(v1::PlanRunResponse response) {
  v1::Plan& plan = *response.mutable_plan();
  plan.mutable_parameters()->clear_components();
  plan.mutable_flops()->mutable_counts()->DeleteSubrange(1, plan.flops().counts_size() - 1);
  plan.mutable_memory()->clear_state();
  plan.mutable_memory()->clear_stages();
  while (plan.memory().changes_size() > 1) plan.mutable_memory()->mutable_changes()->RemoveLast();
  for (v1::RateUsed& rate : *plan.mutable_rates()) rate.clear_source_number();
  plan.clear_assumptions();
  plan.clear_ignored_config_fields();
  plan.clear_derivation();
  plan.clear_sources();
  return response;
}

v1::TimeEstimate& MutableEstimate(v1::Plan& plan, v1::EstimateKind kind) {
  for (v1::TimeEstimate& estimate : *plan.mutable_estimates()) {
    if (estimate.kind() == kind) return estimate;
  }
  ADD_FAILURE() << "no estimate of kind " << v1::EstimateKind_Name(kind);
  return *plan.add_estimates();
}

v1::Interval Exactly(double value) {
  v1::Interval interval;
  interval.set_expected(value);
  interval.set_low(value);
  interval.set_high(value);
  return interval;
}

v1::ListAcceleratorsResponse SampleAccelerators() {
  return FromText<v1::ListAcceleratorsResponse>(R"pb(
    accelerators {
      name: "h100-sxm"
      product_name: "H100 SXM5 80GB"
      vendor: "NVIDIA"
      architecture: "Hopper"
      form_factor: "SXM5"
      memory_bytes { value: 80e9 source: "datasheet A" }
      memory_type: "HBM3"
      memory_bandwidth_bytes_per_second { value: 3.35e12 source: "datasheet B" }
      peak_rates {
        data_type: DATA_TYPE_BF16
        matrix_unit: true
        flops_per_second { value: 989.4e12 source: "datasheet C" }
      }
      peak_rates {
        data_type: DATA_TYPE_FP32
        flops_per_second { value: 66.9e12 source: "datasheet D" }
      }
      link_type: "NVLink4"
      link_bandwidth_bytes_per_second { value: 450e9 source: "datasheet E" }
      cache_bytes { value: 52428800 source: "datasheet F" }
      compute_unit_count { value: 132 source: "datasheet G" }
      boost_clock_hertz { value: 1.98e9 source: "datasheet H" }
      thermal_design_power_watts { value: 700 source: "datasheet I" }
      reported_memory_bytes { value: 85520809984 source: "driver A" }
      driver_reserved_bytes { value: 503316480 source: "driver B" }
      notes: "a note"
    }
    engine_version: "0.1.0"
  )pb");
}

}  // namespace sextant::client
