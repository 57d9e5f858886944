#include "engine/memory/schedule/in_flight_point.h"

namespace sextant {
namespace {

struct HeldAndAwaiting {
  int64_t held = 0;
  int64_t awaiting = 0;
};

InFlightPoint PointOf(ScheduleWork begins, HeldAndAwaiting counts, absl::string_view when) {
  InFlightPoint point;
  point.begins = begins;
  point.when = when;
  point.SetCounts({counts.held, 0}, {counts.awaiting, 0});
  return point;
}

using PositionVisitor = absl::FunctionRef<void(const InterleavedPosition&)>;

int64_t WarmUp(const StageOfPipeline& of) {
  return 2 * (of.stage_count - 1 - of.stage) + (of.virtual_stage_count - 1) * of.stage_count;
}

// The k-th backward pass of a stage begins after warm_up + k + 1 forward passes, or after all of
// them. As passes cycle through chunks in blocks of p, the vector of held micro-batches moves
// along a straight line from corner to corner; corners are where a block of forward or backward
// passes begins. After the first round of backward passes the line repeats, or has fewer of each
// chunk.
class Interleaved {
 public:
  Interleaved(const StageOfPipeline& of, PositionVisitor visit)
      : of_(of),
        visit_(visit),
        passes_(of.micro_batch_count * of.virtual_stage_count),
        warm_up_(WarmUp(of)),
        last_steady_(std::max<int64_t>(0, passes_ - warm_up_ - 1)) {}

  void VisitBlock(int64_t block) const {
    const int64_t chunk = of_.virtual_stage_count - 1 - block;
    const int64_t first = block * of_.stage_count;
    // Later ones of the block hold less.
    const int64_t last = std::min(first + of_.stage_count - 1, std::max(first, last_steady_));
    const int64_t forward_block = ForwardPasses(first) / of_.stage_count;
    const int64_t into_block = ForwardPasses(first) - forward_block * of_.stage_count;
    const int64_t corner =
        std::min(last, into_block == 0 ? first : first + of_.stage_count - into_block);
    // A forward and a backward pass of the same chunk cancel out.
    if (corner > first && forward_block % of_.virtual_stage_count != chunk) Visit(first, chunk);
    Visit(corner, chunk);
    if (last == corner) return;
    const int64_t after_corner = forward_block + (corner > first ? 1 : 0);
    if (after_corner % of_.virtual_stage_count != chunk) Visit(last, chunk);
  }

 private:
  int64_t ForwardPasses(int64_t backward_passes) const {
    return std::min(passes_, warm_up_ + backward_passes + 1);
  }

  void Visit(int64_t backward_passes, int64_t chunk) const {
    if (backward_passes == 0) return visit_(FirstInterleaved(of_));
    visit_({.forwards = ForwardPasses(backward_passes),
            .backwards = backward_passes,
            .chunk = chunk,
            .when = backward_passes <= last_steady_ ? "steady state" : "cool-down"});
  }

  const StageOfPipeline& of_;
  const PositionVisitor visit_;
  const int64_t passes_;
  const int64_t warm_up_;
  const int64_t last_steady_;  // the last backward pass that a new forward pass precedes
};

ChunkPasses PassesOf(const StageOfPipeline& of, int64_t passes) {
  const int64_t round = of.stage_count * of.virtual_stage_count;
  return {.stage_count = of.stage_count,
          .whole_rounds = passes / round * of.stage_count,
          .rest = passes % round};
}

// A stage and its opposite hold the same layers, outer and inner; `depth` is their distance from
// the end of the pipeline. "Outer" and "inner" are the layers that a micro-batch reaches first and
// last. From the middle of the cool-down on, backward passes are split: the last p / 2 of them. Of
// these, depth + 1 alternate between both kinds of layers and end with outer ones; all others are
// outer, too. Weight gradients follow in the same order.
class DualPipeStage {
 public:
  DualPipeStage(const StageOfPipeline& of, PointVisitor visit)
      : visit_(visit),
        depth_(std::min(of.stage, of.stage_count - 1 - of.stage)),
        half_(of.stage_count / 2),
        outer_chunk_(of.stage < half_ ? 0 : 1),
        main_{of.stage_count - depth_, depth_ + 1} {}

  // The main phase, where each forward pass is paired with a backward pass: p + 1 micro-batches.
  void VisitMain() const {
    Visit(ScheduleWork::kBackward, kInner, {.held = main_}, "main phase");
    Visit(ScheduleWork::kBackward, kOuter, {.held = main_}, "main phase");
    if (depth_ + 1 == half_) return;
    // Warm-up: the two halves of a backward pass of inner layers, then a forward pass.
    Visit(ScheduleWork::kWeightGradient, kInner,
          {.held = {main_[kOuter] - 1, main_[kInner] - 1}, .awaiting = {0, 1}}, "warm-up");
  }

  // Counts change linearly between these positions, for each kind of layers in work.
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

  // The number of inner-layer passes among the first `split` split backward passes.
  int64_t InnerAmong(int64_t split) const {
    const int64_t alternating = std::min(split, depth_ + 1);
    return depth_ % 2 == 1 ? (alternating + 1) / 2 : alternating / 2;
  }
  size_t Layers(int64_t split) const {
    return InnerAmong(split + 1) > InnerAmong(split) ? kInner : kOuter;
  }

  // The state after `gradients` of the split backward passes and `weights` of their weight
  // gradients.
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
    InFlightPoint point;
    point.begins = begins;
    point.chunk = layers == kOuter ? outer_chunk_ : 1 - outer_chunk_;
    point.when = when;
    point.SetCounts(by_chunk(state.held), by_chunk(state.awaiting));
    visit_(point);
  }

  const PointVisitor visit_;
  const int64_t depth_;
  const int64_t half_;
  const int64_t outer_chunk_;
  const Counts main_;
};

}  // namespace

void VisitOneChunk(int64_t held, absl::string_view when, PointVisitor visit) {
  visit(PointOf(ScheduleWork::kBackward, {.held = held}, when));
}

// Micro-batch k's input gradient begins with min(ahead, m - k) held and min(k, delay) awaiting.
void VisitZeroBubble(const StageOfPipeline& of, ZeroBubbleShape shape, PointVisitor visit) {
  const int64_t count = of.micro_batch_count;
  const int64_t ahead = std::min(shape.ahead, count);
  const int64_t last_full = count - ahead;  // the last k with the full number held
  const int64_t awaiting = std::min(last_full, shape.delay);
  visit(PointOf(ScheduleWork::kInputGradient, {ahead, awaiting},
                awaiting == 0 ? "first backward pass" : "steady state"));
  // From here to there, each step has one more awaiting its weight gradient and one fewer held.
  const int64_t most_awaiting = std::min(shape.delay, count - 1);
  if (most_awaiting > awaiting) {
    visit(
        PointOf(ScheduleWork::kInputGradient, {count - most_awaiting, most_awaiting}, "cool-down"));
  }
  // The first weight gradient follows input gradient `delay`, or the last one.
  visit(PointOf(ScheduleWork::kWeightGradient,
                {std::min(ahead, count - most_awaiting) - 1, most_awaiting + 1},
                most_awaiting <= last_full ? "steady state" : "cool-down"));
}

void VisitInterleaved(const StageOfPipeline& of, PositionVisitor visit) {
  const Interleaved interleaved(of, visit);
  for (int64_t block = 0; block < of.virtual_stage_count; ++block) interleaved.VisitBlock(block);
}

InterleavedPosition FirstInterleaved(const StageOfPipeline& of) {
  return {.forwards = std::min(of.micro_batch_count * of.virtual_stage_count, WarmUp(of) + 1),
          .chunk = of.virtual_stage_count - 1,
          .when = "first backward pass"};
}

InFlightPoint PointAt(const StageOfPipeline& of, const InterleavedPosition& position) {
  InFlightPoint point;
  point.begins = ScheduleWork::kBackward;
  point.chunk = position.chunk;
  point.when = position.when;
  point.SetPasses(of.virtual_stage_count, PassesOf(of, position.forwards),
                  PassesOf(of, position.backwards));
  return point;
}

void VisitDualPipe(const StageOfPipeline& of, PointVisitor visit) {
  const DualPipeStage stage(of, visit);
  stage.VisitMain();
  stage.VisitEnd();
}

}  // namespace sextant
