#include "tests/client/sample_memory.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

template <typename Message>
Message MemoryFromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

struct Sizes {
  double weights, gradients, masters, optimizer, activations, transients, buffers, reserve;
};

// The reserve is estimated: 1 GiB less, or 2 GiB more.
v1::StageMemory StageOf(int64_t number, const Sizes& sizes, int64_t in_flight,
                        v1::PeakPhase phase) {
  v1::StageMemory out;
  out.set_stage(number);
  out.set_layer_count(2);
  out.set_parameter_count(1'000'000'000);
  out.set_peak_phase(phase);
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
  out.mutable_process_bytes()->set_low(static_cast<double>(total - kGibibyte));
  out.mutable_process_bytes()->set_expected(static_cast<double>(total));
  out.mutable_process_bytes()->set_high(static_cast<double>(total + 2 * kGibibyte));
  return out;
}

// Stage 0 holds the most, on devices of `gib`.
void SetUsable(int64_t gib, v1::Memory* memory) {
  const auto usable = static_cast<double>(gib * kGibibyte);
  const v1::Interval& used = memory->stages(0).process_bytes();
  *memory->mutable_peak_bytes() = used;
  memory->mutable_capacity()->set_capacity_bytes(gib * kGibibyte);
  memory->mutable_capacity()->set_source(v1::CAPACITY_SOURCE_REPORTED);
  memory->mutable_capacity()->set_usable_bytes(gib * kGibibyte);
  memory->mutable_headroom_bytes()->set_low(usable - used.high());
  memory->mutable_headroom_bytes()->set_expected(usable - used.expected());
  memory->mutable_headroom_bytes()->set_high(usable - used.low());
}

}  // namespace

v1::PlanRunRequest SampleMemoryRequest() {
  v1::PlanRunRequest request = SampleRequest();
  request.mutable_training()->clear_activation_bytes();  // counted under a layout
  request.mutable_cluster()->set_device_count(16);
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(2);
  request.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(4);
  request.mutable_layout()->set_micro_batch_size(1);
  return request;
}

v1::PlanRunResponse SampleMemory() {
  v1::PlanRunResponse response = SampleOfModelState();
  v1::Plan* plan = response.mutable_plan();
  plan->set_verdict(v1::VERDICT_FITS);
  plan->set_fit_chance(1);
  plan->set_device_count(16);
  plan->clear_warnings();
  v1::Memory* memory = plan->mutable_memory();
  memory->set_scope(v1::MEMORY_SCOPE_LAYOUT);
  // 8 + 16 + 4 + 8 + 4 x 0.5 + 1 + 0.5 + 2.5 = 42; two with 3 and with 2 in flight; the last has a
  // loss in place of a layer's gradients.
  *memory->add_stages() =
      StageOf(0, {8, 16, 4, 8, 2, 1, 0.5, 2.5}, 4, v1::PEAK_PHASE_LAYER_BACKWARD);
  for (const int64_t stage : {1, 2}) {
    *memory->add_stages() =
        StageOf(stage, {7, 14, 3.5, 7, 1.5, 1, 0.5, 2.5}, 3, v1::PEAK_PHASE_LAYER_BACKWARD);
  }
  *memory->add_stages() = StageOf(3, {8, 16, 4, 8, 0.5, 2, 0.5, 2.5}, 1, v1::PEAK_PHASE_LOSS);
  memory->set_peak_stage(0);
  memory->set_data_parallel_size(2);
  memory->set_zero_stage(v1::ZERO_STAGE_NONE);
  memory->set_framework(v1::FrameworkMemory::KIND_MEGATRON_LM);
  memory->set_micro_batch_count(8);
  SetUsable(80, memory);
  return response;
}

v1::PlanRunResponse SampleLedger() {
  v1::PlanRunResponse response = SampleMemory();
  response.mutable_plan()->add_sources("a paper");
  v1::StageMemory* stage = response.mutable_plan()->mutable_memory()->mutable_stages(3);
  *stage = MemoryFromText<v1::StageMemory>(R"pb(
    stage: 3
    layer_count: 2
    parameter_count: 3072
    peak_phase: PEAK_PHASE_LOSS
    micro_batches_in_flight: 3
    sums { kind: LEDGER_KIND_WEIGHT size_bytes: 6272 }
    sums { kind: LEDGER_KIND_ACTIVATION size_bytes: 12288 }
    sums { kind: LEDGER_KIND_FRAMEWORK_RESERVE size_bytes: 1000 }
    total_bytes: 19560
    process_bytes { low: 18560 expected: 19560 high: 21560 }
    ledger {
      kind: LEDGER_KIND_WEIGHT
      part: MODEL_PART_DECODER
      layer_kind: "dense"
      layer_count: 2
      name: "attention.query"
      dimensions: [ 32, 32 ]
      element_kind: ELEMENT_KIND_NUMBER
      data_type: DATA_TYPE_FP8
      element_bits: 8
      elements: 1024
      scale_bytes: 64
      micro_batch_count: 1
      size_bytes: 2176
      alive: "always"
      why: "parameters"
      source_number: 4
    }
    ledger {
      kind: LEDGER_KIND_WEIGHT
      part: MODEL_PART_OUTPUT
      layer_count: 1
      name: "output_head"
      dimensions: [ 64, 32 ]
      element_kind: ELEMENT_KIND_NUMBER
      data_type: DATA_TYPE_BF16
      element_bits: 16
      elements: 2048
      micro_batch_count: 1
      size_bytes: 4096
      alive: "always"
      why: "parameters"
      source_number: 4
    }
    ledger {
      kind: LEDGER_KIND_ACTIVATION
      part: MODEL_PART_DECODER
      layer_kind: "dense"
      layer_count: 2
      name: "attention.input"
      shape: "b s h"
      element_kind: ELEMENT_KIND_NUMBER
      data_type: DATA_TYPE_BF16
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
      element_kind: ELEMENT_KIND_BYTE
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
  if (verdict != v1::VERDICT_FITS) {
    response.mutable_plan()->set_fit_chance(verdict == v1::VERDICT_TIGHT ? 0.37 : 0);
  }
  v1::Memory* memory = response.mutable_plan()->mutable_memory();
  SetUsable(usable, memory);
  memory->set_changes_considered(1234);
  *memory->add_changes() = MemoryFromText<v1::FittingChange>(R"pb(
    settings {
      field: "layout.sharding.zero_stage"
      from { enum_name: "ZERO_STAGE_NONE" }
      to { enum_name: "ZERO_STAGE_GRADIENTS" }
    }
    cost: CHANGE_COST_NONE
    cost_text: "no time: as much is sent"
    peak_bytes { low: 32212254720 expected: 33285996544 high: 35433480192 }
  )pb");
  *memory->add_changes() = MemoryFromText<v1::FittingChange>(R"pb(
    settings {
      field: "layout.parallel.tensor_parallel_size"
      from { number: 2 }
      to { number: 4 }
    }
    settings {
      field: "a.newer_field"
      from { enum_name: "NEWER_X" }
      to { enum_name: "NEWER_Y" }
    }
    cost: CHANGE_COST_TIME
    cost_text: "time: smaller products"
    peak_bytes { low: 10737418240 expected: 11811160064 high: 13958643712 }
  )pb");
  return response;
}

v1::PlanRunResponse SampleOfStages(int count) {
  v1::PlanRunResponse response = SampleMemory();
  v1::Memory* memory = response.mutable_plan()->mutable_memory();
  memory->clear_stages();
  for (int i = 0; i < count; ++i) {
    const double activations = 20.0 * (count - i) / count;
    *memory->add_stages() = StageOf(i, {8, 8, 8, 8, activations, 1, 0.5, 2.5}, count - i,
                                    v1::PEAK_PHASE_LAYER_BACKWARD);
  }
  SetUsable(80, memory);
  return response;
}

}  // namespace sextant::client
