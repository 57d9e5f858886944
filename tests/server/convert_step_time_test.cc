#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/convert/step_time.h"
#include "tests/server/enum_names.h"
#include "tests/server/message_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A different value in every field.
StepPlan SampleStep() {
  static const SoftwareStack* const stack = [] {
    auto* out = new SoftwareStack{.name = "own"};
    out->values[0].source = "a measurement";
    return out;
  }();
  StepPlan out;
  out.estimate.seconds = {Seconds(3), Seconds(4), Seconds(6)};
  out.estimate.parts[static_cast<size_t>(StepCause::kMatmul)] = 3;
  out.estimate.parts[static_cast<size_t>(StepCause::kHost)] = 1;
  out.estimate.micro_batch_count = 5;
  out.token_count = 6;
  out.estimate.bubble_ratio = 0.7;
  out.estimate.slowest_stage = 8;
  out.estimate.sensitivities = {{.rate = StepRate::kLink, .saved_share = 0.14}};
  out.calibration = StepCalibration{
      .ratio = 0.9, .predicted = Seconds(10), .distance = 11, .factor = 0.12, .applied = true};
  out.software.stack = stack;
  out.software.values[0] = 17;
  out.software.given[1] = out.software.values[1] = 18;
  out.longest_operations = {{.module = "attention",
                             .name = "output",
                             .pass = TracePass::kRecompute,
                             .bound = OperationBound::kMemory,
                             .launches = 15,
                             .flops = 1,
                             .seconds = Seconds(2),
                             .rate = FlopsPerSecond(16)}};
  KernelSource table;
  table.source = RateSource::kReference;
  table.citation = "a table";
  KernelSource probe;
  probe.source = RateSource::kMeasuredSupplied;
  probe.citation = "a probe";
  probe.measured_unix_seconds = 13;
  out.kernel_sources = {{.source = table, .share = 0.6}, {.source = probe, .share = 0.4}};
  return out;
}

v1::StepTime WireOf(const StepPlan& step, bool full = true, SourceNumbers::List* list = nullptr) {
  SourceNumbers sources(list);
  v1::StepTime out;
  StepTimeTo(step, full, sources, &out);
  return out;
}

TEST(StepTimeTo, CarriesEveryField) {
  SourceNumbers::List sources;
  const v1::StepTime wire = WireOf(SampleStep(), true, &sources);
  EXPECT_THAT(wire, EqualsText(R"(
      seconds { low: 3 expected: 4 high: 6 }
      parts { cause: STEP_CAUSE_MATMUL seconds: 3 share: 0.75 }
      parts { cause: STEP_CAUSE_HOST seconds: 1 share: 0.25 }
      micro_batch_count: 5 token_count: 6 bubble_ratio: 0.7 slowest_stage: 8 software_stack: "own"
      calibration { measured_over_predicted: 0.9 predicted_seconds: 10 distance: 11 applied: true
                    factor: 0.12 }
      kernel_sources { source: RATE_SOURCE_REFERENCE share: 0.6 source_number: 1 }
      kernel_sources { source: RATE_SOURCE_MEASURED_SUPPLIED share: 0.4 source_number: 2
                       measured_time { seconds: 13 } }
      sensitivities { rate: RATE_LINK saved_share: 0.14 }
      longest_operations {
        module: "attention" name: "output" pass: OPERATION_PASS_RECOMPUTE bound: BOUND_MEMORY
        seconds: 2 share: 0.5 launches: 15 flops_per_second: 16 }
      assumptions { field: "attention_time_ratio" value: 17 source_number: 3 }
      assumptions { field: "memory_pass_time_ratio" value: 18 from_request: true })"));
  EXPECT_THAT(sources, ElementsAre("a table", "a probe", "a measurement"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

TEST(StepTimeTo, ABasicViewNamesTheKindsOfItsSources) {
  const v1::StepTime wire = WireOf(SampleStep(), /*full=*/false);
  EXPECT_EQ(wire.parts_size(), 2);
  ASSERT_EQ(wire.kernel_sources_size(), 2);
  EXPECT_EQ(wire.kernel_sources(0).source(), v1::RATE_SOURCE_REFERENCE);
  EXPECT_EQ(wire.kernel_sources(0).source_number(), 0);
  EXPECT_EQ(wire.sensitivities_size() + wire.longest_operations_size() + wire.assumptions_size(),
            0);
}

TEST(StepTimeTo, EnumsKeepTheirNames) {
  const std::string step_time = "engine/time/step_time.h";
  ExpectSameNames({v1::StepCause_descriptor(), step_time, "StepCause"}, [](int cause) {
    StepPlan step = SampleStep();
    step.estimate.parts = {};
    step.estimate.parts[static_cast<size_t>(cause)] = 1;
    return WireOf(step).parts(0).cause();
  });
  ExpectSameNames({v1::StepSensitivity::Rate_descriptor(), step_time, "StepRate"}, [](int rate) {
    StepPlan step = SampleStep();
    step.estimate.sensitivities[0].rate = static_cast<StepRate>(rate);
    return WireOf(step).sensitivities(0).rate();
  });
  ExpectSameNames(
      {v1::StepOperation::Bound_descriptor(), "engine/time/longest_operations.h", "OperationBound"},
      [](int bound) {
        StepPlan step = SampleStep();
        step.longest_operations[0].bound = static_cast<OperationBound>(bound);
        return WireOf(step).longest_operations(0).bound();
      });
}

}  // namespace
}  // namespace sextant::server
