#include "engine/memory/schedule/dual_pipe_order.h"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

// Near: the direction whose micro-batches enter at the stage's own half of the pipeline, and so
// come first; far: the other.
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
      // The two stages in the middle don't overlap their first pair, which starts sooner so.
      Pair(kNear, kFar, i > 0 || depth_ + 1 < half_);
      Pair(kFar, kNear, true);
    }
  }

  void WriteSecondHalf() {
    for (int64_t i = 0; i < half_ - depth_ - 1; ++i) {
      Backward(kFar);
      Pair(kFar, kNear, true);
    }
    // Of 2 (depth + 1) backward passes the later half are split.
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

  const int64_t depth_;   // stages between it and its end of the pipeline
  const int64_t half_;    // of the stages
  const int64_t steady_;  // rounds of the main phase
  const int64_t near_chunk_;
  std::array<int64_t, 2> forwards_ = {};
  std::array<int64_t, 2> backwards_ = {};
  std::vector<WorkItem> items_;
  std::vector<WorkItem> put_off_;  // weight gradients, first in, first out
  size_t put_off_done_ = 0;
};

}  // namespace

std::vector<WorkItem> DualPipeOrder(const StageOfPipeline& of) {
  Writer writer(of);
  writer.WriteFirstHalf();
  writer.WriteSecondHalf();
  return writer.Take();
}

}  // namespace sextant
