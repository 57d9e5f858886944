// Checks of a schedule against a layout, and orders of stages: the bubble that each schedule is
// published with, read off a simulated pipeline.
#include "engine/memory/schedule/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/schedule/schedule_order.h"
#include "tests/engine/memory/schedule/simulation.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::Status CheckOf(PipelineSchedule schedule, int64_t micro_batches, int64_t stages,
                     int64_t virtual_stages = 1) {
  return InFlight::Of({.schedule = schedule, .micro_batch_count = micro_batches},
                      {.pipeline_parallel_size = stages, .virtual_stage_count = virtual_stages})
      .status();
}

// `field` is the only one with a fault.
template <typename Description>
auto Faults(const char* field, Description description) {
  return AllOf(NamesFields(ElementsAre(field)), HasViolation(field, description));
}

constexpr PipelineSchedule k1F1B = PipelineSchedule::kOneForwardOneBackward;
constexpr char kMicroBatches[] = "layout.global_batch_size";

TEST(CheckPipeline, SoundOnesPass) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(CheckOf(static_cast<PipelineSchedule>(i), 16, 8), IsOk());
  }
  EXPECT_THAT(CheckOf(k1F1B, 3, 8), IsOk());
  EXPECT_THAT(CheckOf(k1F1B, 24, 8, 3), IsOk());
}

TEST(CheckPipeline, MicroBatchesHaveALimit) {
  for (const int64_t count : {int64_t{0}, int64_t{-1}, int64_t{1'000'000'001}}) {
    EXPECT_THAT(CheckOf(k1F1B, count, 8, 3),
                Faults(kMicroBatches, HasSubstr(absl::StrCat("makes ", count, " micro-batches"))));
  }
}

TEST(CheckPipeline, InterleavedStagesTakeWholeRounds) {
  EXPECT_THAT(CheckOf(k1F1B, 12, 8, 3),
              Faults(kMicroBatches, AllOf(HasSubstr("multiple of pipeline_parallel_size"),
                                          HasSubstr("write 16"))));
  // There is no larger one.
  EXPECT_THAT(CheckOf(k1F1B, 1'000'000'000, 7, 2),
              Faults(kMicroBatches, HasSubstr("write 999999994")));
}

TEST(CheckPipeline, OnlyOneForwardOneBackwardInterleaves) {
  for (const auto schedule : {PipelineSchedule::kGPipe, PipelineSchedule::kZeroBubbleH1,
                              PipelineSchedule::kZeroBubbleH2, PipelineSchedule::kDualPipe}) {
    EXPECT_THAT(CheckOf(schedule, 16, 8, 2),
                Faults("layout.parallel.virtual_stage_count",
                       HasSubstr(std::string(PipelineScheduleName(schedule)))));
  }
}

TEST(CheckPipeline, DualPipeFeedsTwoEndsAlike) {
  const auto schedule = PipelineSchedule::kDualPipe;
  EXPECT_THAT(CheckOf(schedule, 16, 7),
              Faults("layout.parallel.pipeline_parallel_size", HasSubstr("write 8")));
  EXPECT_THAT(CheckOf(schedule, 17, 8), Faults(kMicroBatches, HasSubstr("write 18")));
  EXPECT_THAT(CheckOf(schedule, 14, 8), Faults(kMicroBatches, HasSubstr("write 16")));
}

// Another number of stages alone would contradict chunks by hand.
TEST(CheckPipeline, AdvisesOnChunksByHandToo) {
  FieldViolations violations;
  CheckPipeline({.schedule = PipelineSchedule::kDualPipe, .micro_batch_count = 16},
                {.pipeline_parallel_size = 3, .layers_per_chunk = {4, 5, 4}}, violations);
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_THAT(violations.all()[0].description,
              HasSubstr("write 4 and as many numbers in layers_per_chunk, or choose another"));
}

double BubbleOf(PipelineSchedule schedule, int64_t stages, int64_t virtual_stages,
                int64_t micro_batches) {
  const Simulation simulation =
      Simulate({.schedule = schedule, .micro_batch_count = micro_batches},
               {.pipeline_parallel_size = stages, .virtual_stage_count = virtual_stages});
  EXPECT_FALSE(simulation.deadlock);
  EXPECT_FALSE(simulation.repeated);
  for (const SimulatedStage& stage : simulation.stages) {
    EXPECT_EQ(stage.passes, 3 * micro_batches * virtual_stages);
    EXPECT_THAT(stage.left, Each(0));
  }
  return simulation.Bubble();
}

// With F = B = W = 1, B being the input gradient's half: docs/memory_schedules.md.
TEST(ScheduleOrder, BubblesOfOneForwardOneBackward) {
  for (int64_t p = 1; p <= 8; ++p) {
    for (int64_t m = 1; m <= 24; ++m) {
      EXPECT_EQ(BubbleOf(PipelineSchedule::kOneForwardOneBackward, p, 1, m), 3 * (p - 1));
      EXPECT_EQ(BubbleOf(PipelineSchedule::kGPipe, p, 1, m), 3 * (p - 1));
    }
  }
}

// A v-th of the above in time, as a chunk's pass takes a v-th.
TEST(ScheduleOrder, BubblesOfInterleavedStages) {
  for (int64_t p = 2; p <= 8; ++p) {
    for (int64_t v = 2; v <= 4; ++v) {
      for (int64_t m = p; m <= 24; m += p) {
        EXPECT_EQ(BubbleOf(PipelineSchedule::kOneForwardOneBackward, p, v, m), 3 * (p - 1))
            << p << " " << v << " " << m;
      }
    }
  }
}

TEST(ScheduleOrder, BubblesOfZeroBubbleSchedules) {
  for (int64_t p = 1; p <= 8; ++p) {
    for (int64_t m = p; m <= 24; ++m) {
      EXPECT_EQ(BubbleOf(PipelineSchedule::kZeroBubbleH1, p, 1, m), p - 1);
    }
    for (int64_t m = 2 * p - 1; m <= 24; ++m) {
      EXPECT_EQ(BubbleOf(PipelineSchedule::kZeroBubbleH2, p, 1, m), 0) << p << " " << m;
    }
  }
}

// (p / 2 - 1) (F&B + B - 3 W), where B is a whole backward pass and F&B = F + B: 2 for each.
TEST(ScheduleOrder, BubblesOfDualPipe) {
  for (int64_t p = 2; p <= 16; p += 2) {
    for (int64_t m = 2 * p; m <= 2 * p + 8; m += 2) {
      const Simulation simulation =
          Simulate({.schedule = PipelineSchedule::kDualPipe, .micro_batch_count = m},
                   {.pipeline_parallel_size = p});
      EXPECT_FALSE(simulation.deadlock);
      EXPECT_EQ(simulation.Bubble(), 2 * (p / 2 - 1));
      // Each half of the micro-batches passes one of a stage's two chunks.
      for (const SimulatedStage& stage : simulation.stages) {
        EXPECT_EQ(stage.passes, 3 * m);
        EXPECT_THAT(stage.left, Each(0));
      }
    }
  }
}

// "F0a": forward pass of micro-batch 0 through the first chunk; X a whole backward pass.
std::string TextOf(const PipelineSpec& pipeline, const ParallelLayout& layout, int64_t stage) {
  std::string text;
  const std::vector<WorkItem> items = OrderOfStage(pipeline, layout, stage).value();
  for (const WorkItem& item : items) {
    text += "FXBW"[static_cast<size_t>(item.work)];
    absl::StrAppend(&text, item.micro_batch, item.chunk == 0 ? "a " : "b ");
  }
  return text;
}

// Megatron-LM's order of 2 stages with 2 chunks each, by hand from its warm-up counts: 2 (p - 1 -
// i)
// + (v - 1) p is 4 and 2, before which and after which forward and backward passes take turns.
TEST(ScheduleOrder, OfInterleavedStagesIsMegatrons) {
  const PipelineSpec pipeline = {.micro_batch_count = 4};
  const ParallelLayout layout = {.pipeline_parallel_size = 2, .virtual_stage_count = 2};
  EXPECT_EQ(TextOf(pipeline, layout, 0),
            "F0a F1a F0b F1b F2a X0b F3a X1b F2b X0a F3b X1a X2b X3b X2a X3a ");
  EXPECT_EQ(TextOf(pipeline, layout, 1),
            "F0a F1a F0b X0b F1b X1b F2a X0a F3a X1a F2b X2b F3b X3b X2a X3a ");
}

// Rows of the picture in arXiv 2401.10241, figure 3 (top), 8 micro-batches on 4 stages: the first
// and the last device.
TEST(ScheduleOrder, OfZeroBubbleH1IsThePublishedOne) {
  const PipelineSpec pipeline = {.schedule = PipelineSchedule::kZeroBubbleH1,
                                 .micro_batch_count = 8};
  const ParallelLayout layout = {.pipeline_parallel_size = 4};
  EXPECT_EQ(TextOf(pipeline, layout, 0),
            "F0a F1a F2a F3a B0a W0a F4a B1a W1a F5a B2a W2a F6a "
            "B3a W3a F7a B4a W4a B5a W5a B6a W6a B7a W7a ");
  EXPECT_EQ(TextOf(pipeline, layout, 3),
            "F0a B0a F1a B1a F2a B2a F3a B3a W0a F4a B4a W1a F5a "
            "B5a W2a F6a B6a W3a F7a B7a W4a W5a W6a W7a ");
}

TEST(ScheduleOrder, OfMillionsOfPassesIsRefused) {
  EXPECT_THAT(OrderOfStage({.micro_batch_count = 1'000'000'000}, {}, 0),
              NamesFields(ElementsAre("pipeline")));
}

}  // namespace
}  // namespace sextant
