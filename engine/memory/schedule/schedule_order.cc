#include "engine/memory/schedule/schedule_order.h"

#include <algorithm>
#include <array>

#include "engine/base/field_violation.h"
#include "engine/memory/schedule/in_flight_point.h"

namespace sextant {
namespace {

// Near: the direction whose micro-batches enter at the stage's own half of the pipeline, and so
// come first. Far: the other direction.
enum Direction { kNear, kFar };

class Writer {
 public:
  explicit Writer(const StageOfPipeline& of)
      : depth_(std::min(of.stage, of.stage_count - 1 - of.stage)),
        half_(of.stage_count / 2),
        steady_(of.micro_batch_count / 2 - of.stage_count + depth_ + 1),
        near_chunk_(of.stage < half_ ? 0 : 1) {}

  void WriteFirstHalf() {
    for (int64_t i = 0; i < 2 * (half_ - depth_ - 1); ++i) Forward(kNear);
    for (int64_t i = 0; i < depth_ + 1; ++i) {
      Forward(kNear);
      Forward(kFar);
    }
    for (int64_t i = 0; i < half_ - depth_ - 1; ++i) {
      InputGradient(kFar);
      WeightGradient();
      Forward(kFar);
    }
    for (int64_t i = 0; i < steady_; ++i) {
      // The two middle stages don't overlap their first pair, so that it starts sooner.
      Pair(kNear, kFar, i > 0 || depth_ + 1 < half_);
      Pair(kFar, kNear, true);
    }
  }

  void WriteSecondHalf() {
    for (int64_t i = 0; i < half_ - depth_ - 1; ++i) {
      Backward(kFar);
      Pair(kFar, kNear, true);
    }
    // The second half of the 2 (depth + 1) backward passes are split.
    for (int64_t i = 0; i < 2 * (depth_ + 1); ++i) {
      const Direction direction = i % 2 == 0 ? kFar : kNear;
      if (i < depth_ + 1) {
        Backward(direction);
      } else {
        InputGradient(direction);
      }
    }
    for (int64_t i = 0; i < half_ - depth_ - 1; ++i) {
      WeightGradient();
      InputGradient(kNear);
    }
    for (int64_t i = 0; i < depth_ + 1; ++i) WeightGradient();
  }

  std::vector<WorkItem> Take() { return std::move(items_); }

 private:
  int64_t ChunkOf(Direction direction) const {
    return direction == kNear ? near_chunk_ : 1 - near_chunk_;
  }

  void Add(ScheduleWork work, Direction direction, int64_t micro_batch) {
    items_.push_back({.work = work, .micro_batch = micro_batch, .chunk = ChunkOf(direction)});
  }

  void Forward(Direction direction) {
    Add(ScheduleWork::kForward, direction, forwards_[direction]++);
  }
  void Backward(Direction direction) {
    Add(ScheduleWork::kBackward, direction, backwards_[direction]++);
  }
  void InputGradient(Direction direction) {
    Add(ScheduleWork::kInputGradient, direction, backwards_[direction]++);
    put_off_.push_back(items_.back());
  }
  void WeightGradient() {
    items_.push_back(put_off_[put_off_done_++]);
    items_.back().work = ScheduleWork::kWeightGradient;
  }
  void Pair(Direction forward, Direction backward, bool overlap) {
    Forward(forward);
    items_.back().with_next = overlap;
    Backward(backward);
  }

  const int64_t depth_;   // stages between this one and its end of the pipeline
  const int64_t half_;    // half of the stages
  const int64_t steady_;  // rounds of the main phase
  const int64_t near_chunk_;
  std::array<int64_t, 2> forwards_ = {};
  std::array<int64_t, 2> backwards_ = {};
  std::vector<WorkItem> items_;
  std::vector<WorkItem> put_off_;  // deferred weight gradients, first in, first out
  size_t put_off_done_ = 0;
};

// Source: the eight steps of DualPipe.step(), deepseek-ai/DualPipe @bb214e82b593,
// dualpipe/dualpipe.py.
std::vector<WorkItem> DualPipeOrder(const StageOfPipeline& of) {
  Writer writer(of);
  writer.WriteFirstHalf();
  writer.WriteSecondHalf();
  return writer.Take();
}

using Items = std::vector<WorkItem>;

void AddWork(ScheduleWork work, int64_t micro_batch, Items& items) {
  items.push_back({.work = work, .micro_batch = micro_batch});
}

// Runs `ahead` forward passes before the first backward pass.
Items OneChunk(int64_t count, int64_t ahead) {
  Items items;
  for (int64_t i = 0; i < ahead; ++i) AddWork(ScheduleWork::kForward, i, items);
  for (int64_t i = 0; i < count; ++i) {
    AddWork(ScheduleWork::kBackward, i, items);
    if (ahead + i < count) AddWork(ScheduleWork::kForward, ahead + i, items);
  }
  return items;
}

// Passes of interleaved chunks in one direction: each chunk in turn runs as many micro-batches as
// there are stages.
struct Rounds {
  ScheduleWork work = ScheduleWork::kForward;
  int64_t stages = 1;
  int64_t chunks = 1;
  int64_t first = 0;  // micro-batch of the round
  int64_t index = 0;  // within the round
  int64_t turn = 0;

  WorkItem Next() {
    const WorkItem out = {.work = work,
                          .micro_batch = first + index,
                          .chunk = work == ScheduleWork::kForward ? turn : chunks - 1 - turn};
    if (++index < stages) return out;
    index = 0;
    if (++turn < chunks) return out;
    turn = 0;
    first += stages;
    return out;
  }
};

// Source: Megatron-LM, megatron/core/pipeline_parallel/schedules.py,
// get_pp_rank_microbatches() and forward_backward_pipelining_with_interleaving().
Items InterleavedOrder(const StageOfPipeline& of) {
  const int64_t chunks = of.virtual_stage_count;
  const int64_t passes = of.micro_batch_count * chunks;
  Rounds forward = {ScheduleWork::kForward, of.stage_count, chunks};
  Rounds backward = {ScheduleWork::kBackward, of.stage_count, chunks};
  const int64_t warm_up =
      std::min(passes, 2 * (of.stage_count - 1 - of.stage) + (chunks - 1) * of.stage_count);
  Items items;
  items.reserve(static_cast<size_t>(2 * passes));
  for (int64_t i = 0; i < warm_up; ++i) items.push_back(forward.Next());
  for (int64_t i = 0; i < passes; ++i) {
    if (warm_up + i < passes) items.push_back(forward.Next());
    items.push_back(backward.Next());
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
  const int64_t stages_left = of.stage_count - stage;  // including this one
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
