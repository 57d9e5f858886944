// Checks of a schedule against a layout, and their errors.
#include "engine/memory/schedule/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/memory/schedule/in_flight.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Faults {
  std::vector<std::string> fields;
  std::string first;
};

Faults FaultsOf(PipelineSchedule schedule, int64_t micro_batches, int64_t stages,
                int64_t virtual_stages = 1) {
  const absl::Status status =
      InFlight::Of({.schedule = schedule, .micro_batch_count = micro_batches},
                   {.pipeline_parallel_size = stages, .virtual_stage_count = virtual_stages}, "job")
          .status();
  Faults out;
  for (const FieldViolation& fault : FieldViolationsOf(status)) {
    out.fields.push_back(fault.field);
    if (out.first.empty()) out.first = fault.description;
  }
  return out;
}

constexpr PipelineSchedule k1F1B = PipelineSchedule::kOneForwardOneBackward;

TEST(CheckPipeline, SoundOnesPass) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(FaultsOf(static_cast<PipelineSchedule>(i), 16, 8).fields, IsEmpty());
  }
  EXPECT_THAT(FaultsOf(k1F1B, 3, 8).fields, IsEmpty());
  EXPECT_THAT(FaultsOf(k1F1B, 24, 8, 3).fields, IsEmpty());
}

TEST(CheckPipeline, MicroBatchesHaveALimit) {
  for (const int64_t count : {int64_t{0}, int64_t{-1}, int64_t{1'000'000'001}}) {
    EXPECT_THAT(FaultsOf(k1F1B, count, 8, 3).fields, ElementsAre("job.pipeline.micro_batch_count"));
  }
}

TEST(CheckPipeline, InterleavedStagesTakeWholeRounds) {
  const Faults faults = FaultsOf(k1F1B, 12, 8, 3);
  EXPECT_THAT(faults.fields, ElementsAre("job.pipeline.micro_batch_count"));
  EXPECT_THAT(faults.first, HasSubstr("multiple of pipeline_parallel_size"));
  EXPECT_THAT(faults.first, HasSubstr("write 16"));
  // There is no larger one.
  EXPECT_THAT(FaultsOf(k1F1B, 1'000'000'000, 7, 2).first, HasSubstr("write 999999994"));
}

TEST(CheckPipeline, OnlyOneForwardOneBackwardInterleaves) {
  for (const auto schedule : {PipelineSchedule::kGPipe, PipelineSchedule::kZeroBubbleH1,
                              PipelineSchedule::kZeroBubbleH2, PipelineSchedule::kDualPipe}) {
    const Faults faults = FaultsOf(schedule, 16, 8, 2);
    EXPECT_THAT(faults.fields, ElementsAre("job.layout.virtual_stage_count"));
    EXPECT_THAT(faults.first, HasSubstr(std::string(PipelineScheduleName(schedule))));
  }
}

TEST(CheckPipeline, DualPipeFeedsTwoEndsAlike) {
  const auto schedule = PipelineSchedule::kDualPipe;
  EXPECT_THAT(FaultsOf(schedule, 16, 7).fields, ElementsAre("job.layout.pipeline_parallel_size"));
  EXPECT_THAT(FaultsOf(schedule, 16, 7).first, HasSubstr("write 8"));
  EXPECT_THAT(FaultsOf(schedule, 17, 8).fields, ElementsAre("job.pipeline.micro_batch_count"));
  EXPECT_THAT(FaultsOf(schedule, 17, 8).first, HasSubstr("write 18"));
  EXPECT_THAT(FaultsOf(schedule, 14, 8).fields, ElementsAre("job.pipeline.micro_batch_count"));
  EXPECT_THAT(FaultsOf(schedule, 14, 8).first, HasSubstr("write 16"));
}

// Another number of stages alone would contradict chunks by hand.
TEST(CheckPipeline, AdvisesOnChunksByHandToo) {
  FieldViolations violations;
  CheckPipeline({.schedule = PipelineSchedule::kDualPipe, .micro_batch_count = 16},
                {.pipeline_parallel_size = 3, .layers_per_chunk = {4, 5, 4}}, "job", violations);
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_THAT(violations.all()[0].description,
              HasSubstr("write 4 and as many numbers in layers_per_chunk, or choose another"));
}

}  // namespace
}  // namespace sextant
