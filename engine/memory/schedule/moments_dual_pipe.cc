#include <algorithm>
#include <array>

#include "engine/memory/schedule/moment_list.h"

namespace sextant {
namespace {

// A stage and its opposite hold the same layers, those of the outer and those of the inner of the
// two; `depth` is how far they stand from their end of the pipeline. "Outer" and "inner" are the
// layers that a micro-batch reaches first and last. From the middle of the cool-down on, backward
// passes are split: the last p / 2 of them, of which depth + 1 alternate between both kinds of
// layers and end with outer ones, as all others are. Weight gradients follow in the same order.
class DualPipeStage {
 public:
  DualPipeStage(const StageOfPipeline& of, MomentVisitor visit)
      : visit_(visit),
        depth_(std::min(of.stage, of.stage_count - 1 - of.stage)),
        half_(of.stage_count / 2),
        outer_chunk_(of.stage < half_ ? 0 : 1),
        main_{of.stage_count - depth_, depth_ + 1} {}

  // While each forward pass comes with a backward pass: p + 1 micro-batches.
  void VisitMain() const {
    Visit(ScheduleWork::kBackward, kInner, {.held = main_}, "main phase");
    Visit(ScheduleWork::kBackward, kOuter, {.held = main_}, "main phase");
    if (depth_ + 1 == half_) return;
    // Warm-up: the two halves of a backward pass of inner layers, then a forward pass.
    Visit(ScheduleWork::kWeightGradient, kInner,
          {.held = {main_[kOuter] - 1, main_[kInner] - 1}, .awaiting = {0, 1}}, "warm-up");
  }

  // Counts change at an even pace between these positions, for each kind of layers in work.
  void VisitEnd() const {
    for (int64_t split = std::max<int64_t>(0, depth_ - 1); split <= depth_; ++split) {
      Visit(ScheduleWork::kInputGradient, Layers(split), At(split, 0), "cool-down");
    }
    // Then weight gradients, each before a split backward pass of outer layers, ...
    const int64_t before_outer = half_ - depth_ - 1;
    const int64_t turn = std::min(depth_, before_outer - 1);
    int64_t last = -1;
    for (const int64_t done : {int64_t{0}, int64_t{1}, turn - 1, turn}) {
      if (done <= last || done >= before_outer) continue;
      last = done;
      Visit(ScheduleWork::kWeightGradient, Layers(done), At(depth_ + 1 + done, done), "cool-down");
      Visit(ScheduleWork::kInputGradient, kOuter, At(depth_ + 1 + done, done + 1), "cool-down");
    }
    // ... and the others by themselves.
    for (int64_t done = before_outer; done < std::min(half_, before_outer + 2); ++done) {
      Visit(ScheduleWork::kWeightGradient, Layers(done), At(half_, done), "cool-down");
    }
  }

 private:
  using Counts = std::array<int64_t, 2>;  // of outer layers, of inner layers
  static constexpr size_t kOuter = 0;
  static constexpr size_t kInner = 1;
  struct State {
    Counts held = {};
    Counts awaiting = {};
  };

  // Of the first `split` split backward passes, how many are of inner layers.
  int64_t InnerAmong(int64_t split) const {
    const int64_t alternating = std::min(split, depth_ + 1);
    return depth_ % 2 == 1 ? (alternating + 1) / 2 : alternating / 2;
  }
  size_t Layers(int64_t split) const {
    return InnerAmong(split + 1) > InnerAmong(split) ? kInner : kOuter;
  }

  // After `gradients` of the split backward passes and `weights` of their weight gradients.
  State At(int64_t gradients, int64_t weights) const {
    const int64_t inner_left = InnerAmong(half_) - InnerAmong(gradients);
    const int64_t inner_awaiting = InnerAmong(gradients) - InnerAmong(weights);
    return {.held = {half_ - gradients - inner_left, inner_left},
            .awaiting = {gradients - weights - inner_awaiting, inner_awaiting}};
  }

  void Visit(ScheduleWork begins, size_t layers, const State& state, absl::string_view when) const {
    const auto by_chunk = [&](Counts counts) {
      return outer_chunk_ == 0 ? counts : Counts{counts[kInner], counts[kOuter]};
    };
    InFlightMoment moment;
    moment.begins = begins;
    moment.chunk = layers == kOuter ? outer_chunk_ : 1 - outer_chunk_;
    moment.when = when;
    moment.SetCounts(by_chunk(state.held), by_chunk(state.awaiting));
    visit_(moment);
  }

  const MomentVisitor visit_;
  const int64_t depth_;
  const int64_t half_;
  const int64_t outer_chunk_;
  const Counts main_;
};

}  // namespace

void VisitDualPipe(const StageOfPipeline& of, MomentVisitor visit) {
  const DualPipeStage stage(of, visit);
  stage.VisitMain();
  stage.VisitEnd();
}

}  // namespace sextant
