#include "tests/client/sample_memory.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

template <typename Message>
Message EstimateFromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

struct Sizes {
  double weights, gradients, masters, optimizer, activations, transients, buffers, reserve;
};

// The reserve is estimated: 1 GiB less, or 2 GiB more.
v1::StageMemory StageOf(int64_t number, const Sizes& sizes, int64_t in_flight,
                        v1::PeakPhase moment) {
  v1::StageMemory out;
  out.set_stage(number);
  out.set_layer_count(2);
  out.set_parameter_count(1'000'000'000);
  out.set_moment(moment);
  out.add_micro_batches_in_flight(in_flight);
  int kind = 1;
  int64_t total = 0;
  for (const double gib : {sizes.weights, sizes.gradients, sizes.masters, sizes.optimizer,
                           sizes.activations, sizes.transients, sizes.buffers, sizes.reserve}) {
    const auto bytes = static_cast<int64_t>(gib * kGibibyte);
    v1::LedgerSum* sum = out.add_sums();
    sum->set_kind(static_cast<v1::LedgerKind>(kind++));
    sum->set_size_bytes(bytes);
    total += bytes;
  }
  out.set_total_bytes(total);
  out.mutable_process_bytes()->set_low(total - kGibibyte);
  out.mutable_process_bytes()->set_expected(total);
  out.mutable_process_bytes()->set_high(total + 2 * kGibibyte);
  return out;
}

void SetUsable(int64_t gib, v1::MemoryEstimate* estimate) {
  const int64_t usable = gib * kGibibyte;
  const v1::BytesInterval& used = estimate->stages(0).process_bytes();
  estimate->set_usable_bytes(usable);
  estimate->mutable_headroom_bytes()->set_low(usable - used.high());
  estimate->mutable_headroom_bytes()->set_expected(usable - used.expected());
  estimate->mutable_headroom_bytes()->set_high(usable - used.low());
}

}  // namespace

v1::PlanRunRequest SampleMemoryRequest() {
  v1::PlanRunRequest request = SampleRequest();
  request.mutable_cluster()->set_device_count(16);
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(2);
  request.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(4);
  request.mutable_layout()->set_micro_batch_size(1);
  return request;
}

v1::PlanRunResponse SampleMemory() {
  v1::PlanRunResponse response = SampleResponse();
  v1::Plan* plan = response.mutable_plan();
  plan->set_device_count(16);
  v1::MemoryEstimate* estimate = plan->mutable_memory_estimate();
  // 8 + 16 + 4 + 8 + 4 x 0.5 + 1 + 0.5 + 2.5 = 42; two with 3 and with 2 in flight; the last has a
  // loss in place of a layer's gradients.
  *estimate->add_stages() =
      StageOf(0, {8, 16, 4, 8, 2, 1, 0.5, 2.5}, 4, v1::PEAK_PHASE_LAYER_BACKWARD);
  for (const int64_t stage : {1, 2}) {
    *estimate->add_stages() =
        StageOf(stage, {7, 14, 3.5, 7, 1.5, 1, 0.5, 2.5}, 3, v1::PEAK_PHASE_LAYER_BACKWARD);
  }
  *estimate->add_stages() = StageOf(3, {8, 16, 4, 8, 0.5, 2, 0.5, 2.5}, 1, v1::PEAK_PHASE_LOSS);
  estimate->set_peak_stage(0);
  estimate->set_data_parallel_size(2);
  estimate->set_micro_batch_count(8);
  SetUsable(80, estimate);
  return response;
}

v1::PlanRunResponse SampleLedger() {
  v1::PlanRunResponse response = SampleMemory();
  v1::StageMemory* stage = response.mutable_plan()->mutable_memory_estimate()->mutable_stages(3);
  *stage = EstimateFromText<v1::StageMemory>(R"pb(
    stage: 3
    layer_count: 2
    parameter_count: 3072
    moment: PEAK_PHASE_LOSS
    micro_batches_in_flight: 3
    sums { kind: LEDGER_KIND_WEIGHT size_bytes: 6272 }
    sums { kind: LEDGER_KIND_ACTIVATION size_bytes: 12288 }
    sums { kind: LEDGER_KIND_FRAMEWORK_RESERVE size_bytes: 1000 }
    total_bytes: 19560
    process_bytes { low: 18560 expected: 19560 high: 21560 }
    ledger {
      kind: LEDGER_KIND_WEIGHT
      part: "decoder"
      layer_kind: "dense"
      layer_count: 2
      name: "attention.query"
      dimensions: [ 32, 32 ]
      data_type: "fp8"
      element_bits: 8
      elements: 1024
      scale_bytes: 64
      micro_batch_count: 1
      size_bytes: 2176
      alive: "always"
      why: "parameters"
      source: "a paper"
    }
    ledger {
      kind: LEDGER_KIND_WEIGHT
      part: "output"
      layer_count: 1
      name: "output_head"
      dimensions: [ 64, 32 ]
      data_type: "bf16"
      element_bits: 16
      elements: 2048
      micro_batch_count: 1
      size_bytes: 4096
      alive: "always"
      why: "parameters"
      source: "a paper"
    }
    ledger {
      kind: LEDGER_KIND_ACTIVATION
      part: "decoder"
      layer_kind: "dense"
      layer_count: 2
      name: "attention.input"
      shape: "b s h"
      data_type: "bf16"
      element_bits: 16
      elements: 1024
      micro_batch_count: 3
      size_bytes: 12288
      alive: "from its forward to its backward pass"
      why: "gradient of the weights"
    }
    ledger {
      kind: LEDGER_KIND_FRAMEWORK_RESERVE
      layer_count: 1
      name: "context"
      micro_batch_count: 1
      size_bytes: 1000
      alive: "always"
    }
  )pb");
  return response;
}

v1::PlanRunResponse SampleMemoryOn(int64_t usable, v1::Verdict verdict) {
  v1::PlanRunResponse response = SampleMemory();
  response.mutable_plan()->set_verdict(verdict);
  v1::MemoryEstimate* estimate = response.mutable_plan()->mutable_memory_estimate();
  SetUsable(usable, estimate);
  estimate->set_changes_considered(1234);
  *estimate->add_changes() = EstimateFromText<v1::FittingChange>(R"pb(
    settings { field: "layout.sharding.zero_stage" from: "NONE" to: "OPTIMIZER" }
    cost: "more communication"
    process_bytes { low: 32212254720 expected: 33285996544 high: 35433480192 }
  )pb");
  *estimate->add_changes() = EstimateFromText<v1::FittingChange>(R"pb(
    settings { field: "layout.parallel.tensor_parallel_size" from: "2" to: "4" }
    settings { field: "a.newer_field" from: "x" to: "y" }
    cost: "smaller products"
    process_bytes { low: 10737418240 expected: 11811160064 high: 13958643712 }
  )pb");
  return response;
}

v1::PlanRunResponse SampleOfStages(int count) {
  v1::PlanRunResponse response = SampleMemory();
  v1::MemoryEstimate* estimate = response.mutable_plan()->mutable_memory_estimate();
  estimate->clear_stages();
  for (int i = 0; i < count; ++i) {
    const double activations = 20.0 * (count - i) / count;
    *estimate->add_stages() = StageOf(i, {8, 8, 8, 8, activations, 1, 0.5, 2.5}, count - i,
                                      v1::PEAK_PHASE_LAYER_BACKWARD);
  }
  SetUsable(80, estimate);
  return response;
}

}  // namespace sextant::client
