#include "engine/memory/schedule/schedule_order.h"

#include <algorithm>

#include "engine/base/field_violation.h"
#include "engine/memory/schedule/dual_pipe_order.h"
#include "engine/memory/schedule/moment_list.h"

namespace sextant {
namespace {

using Items = std::vector<WorkItem>;

void AddWork(ScheduleWork work, int64_t micro_batch, Items& items) {
  items.push_back({.work = work, .micro_batch = micro_batch});
}

// `ahead` forward passes come before the first backward pass.
Items OneChunk(int64_t count, int64_t ahead) {
  Items items;
  for (int64_t i = 0; i < ahead; ++i) AddWork(ScheduleWork::kForward, i, items);
  for (int64_t i = 0; i < count; ++i) {
    AddWork(ScheduleWork::kBackward, i, items);
    if (ahead + i < count) AddWork(ScheduleWork::kForward, ahead + i, items);
  }
  return items;
}

// Source: Megatron-LM, megatron/core/pipeline_parallel/schedules.py,
// get_pp_rank_microbatches() and forward_backward_pipelining_with_interleaving().
Items InterleavedOrder(const StageOfPipeline& of) {
  const int64_t chunks = of.virtual_stage_count;
  const int64_t passes = of.micro_batch_count * chunks;
  const auto pass = [&](ScheduleWork work, int64_t index) {
    const int64_t block = index / of.stage_count;
    const int64_t turn = block % chunks;
    return WorkItem{.work = work,
                    .micro_batch = block / chunks * of.stage_count + index % of.stage_count,
                    .chunk = work == ScheduleWork::kForward ? turn : chunks - 1 - turn};
  };
  const int64_t warm_up =
      std::min(passes, 2 * (of.stage_count - 1 - of.stage) + (chunks - 1) * of.stage_count);
  Items items;
  for (int64_t i = 0; i < warm_up; ++i) items.push_back(pass(ScheduleWork::kForward, i));
  for (int64_t i = 0; i < passes; ++i) {
    if (warm_up + i < passes) items.push_back(pass(ScheduleWork::kForward, warm_up + i));
    items.push_back(pass(ScheduleWork::kBackward, i));
  }
  return items;
}

// Source: arXiv 2401.10241, section 2, figure 3: docs/memory_schedules.md has the counts.
Items ZeroBubble(int64_t count, ZeroBubbleShape shape) {
  const int64_t ahead = std::min(count, shape.ahead);
  Items items;
  for (int64_t i = 0; i < ahead; ++i) AddWork(ScheduleWork::kForward, i, items);
  for (int64_t i = 0; i < count; ++i) {
    AddWork(ScheduleWork::kInputGradient, i, items);
    if (i >= shape.delay) AddWork(ScheduleWork::kWeightGradient, i - shape.delay, items);
    if (ahead + i < count) AddWork(ScheduleWork::kForward, ahead + i, items);
  }
  for (int64_t i = std::max<int64_t>(0, count - shape.delay); i < count; ++i) {
    AddWork(ScheduleWork::kWeightGradient, i, items);
  }
  return items;
}

int64_t MostItems(const PipelineSpec& pipeline, const ParallelLayout& layout) {
  return pipeline.micro_batch_count * layout.virtual_stage_count * 3;
}

}  // namespace

absl::StatusOr<std::vector<WorkItem>> OrderOfStage(const PipelineSpec& pipeline,
                                                   const ParallelLayout& layout, int64_t stage) {
  if (MostItems(pipeline, layout) > kMaxOrderItems) {
    return InvalidField("pipeline", "has more than 1.6e7 passes a stage");
  }
  const StageOfPipeline of = {.stage = stage,
                              .stage_count = layout.pipeline_parallel_size,
                              .virtual_stage_count = layout.virtual_stage_count,
                              .micro_batch_count = pipeline.micro_batch_count};
  const int64_t count = of.micro_batch_count;
  const int64_t stages_left = of.stage_count - stage;  // this one among them
  switch (pipeline.schedule) {
    case PipelineSchedule::kGPipe:
      return OneChunk(count, count);
    case PipelineSchedule::kZeroBubbleH1:
      return ZeroBubble(count, {.ahead = stages_left, .delay = stage});
    case PipelineSchedule::kZeroBubbleH2:
      return ZeroBubble(count, {.ahead = 2 * stages_left - 1, .delay = 2 * stage});
    case PipelineSchedule::kDualPipe:
      return DualPipeOrder(of);
    case PipelineSchedule::kOneForwardOneBackward:
      if (of.virtual_stage_count > 1) return InterleavedOrder(of);
      return OneChunk(count, std::min(count, stages_left));
  }
  return InvalidField("pipeline", "has no such schedule");
}

}  // namespace sextant
