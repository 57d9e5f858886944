// The peak of a stage allocates nothing, nor do its points.
#include <gtest/gtest.h>

#include "engine/memory/schedule/in_flight.h"
#include "tests/engine/model/flops/counting_allocator.h"

namespace sextant {
namespace {

TEST(InFlightAllocation, IsNone) {
  const ParallelLayout layout = {.pipeline_parallel_size = 8};
  const ParallelLayout interleaved = {.pipeline_parallel_size = 8, .virtual_stage_count = 3};
  const std::vector<ChunkBytes> chunks(3, {.held = Bytes(5), .backward_work = Bytes(1)});
  for (int i = 0; i < 6; ++i) {
    const bool interleave = i == 5;
    const PipelineSpec pipeline = {.schedule = static_cast<PipelineSchedule>(interleave ? 0 : i),
                                   .micro_batch_count = 64};
    const int64_t before = AllocationCount();
    const absl::StatusOr<InFlight> in_flight =
        InFlight::Of(pipeline, interleave ? interleaved : layout, "a_path_that_is_not_inlined.job");
    int64_t held = 0;
    for (int64_t stage = 0; stage < 8; ++stage) {
      in_flight->ForEachPoint(stage, [&](const InFlightPoint& point) { held += point.Held(0); });
      const absl::Span<const ChunkBytes> of_stage(chunks.data(),
                                                  static_cast<size_t>(in_flight->chunk_count()));
      held += in_flight->Peak(stage, of_stage)->size.value();
    }
    EXPECT_EQ(AllocationCount() - before, 0) << i;
    EXPECT_GT(held, 0);
  }
}

}  // namespace
}  // namespace sextant
