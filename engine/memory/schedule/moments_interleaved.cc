#include <algorithm>

#include "engine/memory/schedule/moment_list.h"

namespace sextant {
namespace {

// The k-th backward pass of a stage begins after warm_up + k + 1 forward passes, or all. As passes
// go round chunks in blocks of p, the vector of micro-batches held moves along one straight line
// from corner to corner: where a block of forward or of backward passes begins. Past the first
// round of backward passes it repeats itself, or has fewer of each chunk.
class Interleaved {
 public:
  Interleaved(const StageOfPipeline& of, MomentVisitor visit)
      : of_(of),
        visit_(visit),
        passes_(of.micro_batch_count * of.virtual_stage_count),
        warm_up_(2 * (of.stage_count - 1 - of.stage) +
                 (of.virtual_stage_count - 1) * of.stage_count),
        last_steady_(std::max<int64_t>(0, passes_ - warm_up_ - 1)) {}

  void VisitBlock(int64_t block) const {
    const int64_t chunk = of_.virtual_stage_count - 1 - block;
    const int64_t first = block * of_.stage_count;
    // Later ones of the block hold less.
    const int64_t last = std::min(first + of_.stage_count - 1, std::max(first, last_steady_));
    const int64_t into_block = ForwardPasses(first) % of_.stage_count;
    const int64_t corner =
        std::min(last, into_block == 0 ? first : first + of_.stage_count - into_block);
    // Forward and backward passes of one chunk change nothing.
    if (corner > first && ChunkAfter(first) != chunk) Visit(first, chunk);
    Visit(corner, chunk);
    if (last > corner && ChunkAfter(corner) != chunk) Visit(last, chunk);
  }

 private:
  int64_t ForwardPasses(int64_t backward_passes) const {
    return std::min(passes_, warm_up_ + backward_passes + 1);
  }

  // Of the next forward pass.
  int64_t ChunkAfter(int64_t backward_passes) const {
    return ForwardPasses(backward_passes) / of_.stage_count % of_.virtual_stage_count;
  }

  void Visit(int64_t backward_passes, int64_t chunk) const {
    InFlightMoment moment;
    moment.begins = ScheduleWork::kBackward;
    moment.chunk = chunk;
    moment.when = backward_passes == 0              ? "first backward pass"
                  : backward_passes <= last_steady_ ? "steady state"
                                                    : "cool-down";
    moment.SetPasses(of_.virtual_stage_count, PassesOf(of_, ForwardPasses(backward_passes)),
                     PassesOf(of_, backward_passes));
    visit_(moment);
  }

  const StageOfPipeline& of_;
  const MomentVisitor visit_;
  const int64_t passes_;
  const int64_t warm_up_;
  const int64_t last_steady_;  // the last backward pass that a new forward pass comes before
};

}  // namespace

ChunkPasses PassesOf(const StageOfPipeline& of, int64_t passes) {
  const int64_t round = of.stage_count * of.virtual_stage_count;
  return {.stage_count = of.stage_count,
          .whole_rounds = passes / round * of.stage_count,
          .rest = passes % round};
}

void VisitInterleaved(const StageOfPipeline& of, MomentVisitor visit) {
  const Interleaved interleaved(of, visit);
  for (int64_t block = 0; block < of.virtual_stage_count; ++block) interleaved.VisitBlock(block);
}

}  // namespace sextant
