#include <algorithm>

#include "engine/memory/schedule/moment_list.h"

namespace sextant {
namespace {

using PositionVisitor = absl::FunctionRef<void(const InterleavedPosition&)>;

int64_t WarmUp(const StageOfPipeline& of) {
  return 2 * (of.stage_count - 1 - of.stage) + (of.virtual_stage_count - 1) * of.stage_count;
}

// The k-th backward pass of a stage begins after warm_up + k + 1 forward passes, or all. As passes
// go round chunks in blocks of p, the vector of micro-batches held moves along one straight line
// from corner to corner: where a block of forward or of backward passes begins. Past the first
// round of backward passes it repeats itself, or has fewer of each chunk.
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
    // Forward and backward passes of one chunk change nothing.
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
  const int64_t last_steady_;  // the last backward pass that a new forward pass comes before
};

ChunkPasses PassesOf(const StageOfPipeline& of, int64_t passes) {
  const int64_t round = of.stage_count * of.virtual_stage_count;
  return {.stage_count = of.stage_count,
          .whole_rounds = passes / round * of.stage_count,
          .rest = passes % round};
}

}  // namespace

void VisitInterleaved(const StageOfPipeline& of, PositionVisitor visit) {
  const Interleaved interleaved(of, visit);
  for (int64_t block = 0; block < of.virtual_stage_count; ++block) interleaved.VisitBlock(block);
}

InterleavedPosition FirstInterleaved(const StageOfPipeline& of) {
  return {.forwards = std::min(of.micro_batch_count * of.virtual_stage_count, WarmUp(of) + 1),
          .chunk = of.virtual_stage_count - 1,
          .when = "first backward pass"};
}

InFlightMoment MomentAt(const StageOfPipeline& of, const InterleavedPosition& position) {
  InFlightMoment moment;
  moment.begins = ScheduleWork::kBackward;
  moment.chunk = position.chunk;
  moment.when = position.when;
  moment.SetPasses(of.virtual_stage_count, PassesOf(of, position.forwards),
                   PassesOf(of, position.backwards));
  return moment;
}

}  // namespace sextant
