// Runs every pass of interleaved 1F1B in an order in which each pass's input is known: tick by
// tick, and in a tick stage by stage. A pass ends at
//
//   max(end of the stage's previous pass, end of its input + send) + its own time
//
// so one number a stage is enough. Two send times share the loop, whose cost is mostly control
// flow. Time is linear in the passes, of which there are at most kMaxPasses; space in the stages.
#include "engine/time/pipeline_interleaved.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"

namespace sextant {
namespace {

// About 100 us.
constexpr int64_t kMaxPasses = 20'000;

// Passes in one direction: each chunk in turn runs as many micro-batches as there are stages.
struct Turns {
  int64_t chunk = 0;
  int64_t left = 0;  // of the chunk's turn
};

struct StageTicks {
  InterleavedTimes forward = {};  // end of the last forward pass
  InterleavedTimes end = {};      // of the last pass
  Turns forwards = {};
  Turns backwards = {};
};

class Ticks {
 public:
  Ticks(const PipelineInput& in, const InterleavedTimes& sends)
      : chunks_(in.chunks),
        sends_(sends),
        chunk_count_(in.layout.virtual_stage_count),
        passes_(in.pipeline.micro_batch_count * chunk_count_),
        stages_(static_cast<size_t>(in.layout.pipeline_parallel_size),
                StageTicks{.forwards = {0, in.layout.pipeline_parallel_size},
                           .backwards = {chunk_count_ - 1, in.layout.pipeline_parallel_size}}),
        warm_up_(2 * (stage_count() - 1) + (chunk_count_ - 1) * stage_count()) {}

  absl::optional<InterleavedTimes> Run() {
    if (2 * passes_ * stage_count() > kMaxPasses) return absl::nullopt;
    for (int64_t tick = 0; tick < passes_ + warm_up_; ++tick) RunTick(tick);
    return stages_.front().end;
  }

 private:
  int64_t stage_count() const { return static_cast<int64_t>(stages_.size()); }
  bool IsPass(int64_t index) const { return index >= 0 && index < passes_; }

  // end[i] = max(end[i], after[i] + sends[i]).
  void Arrive(const InterleavedTimes& after, InterleavedTimes& end) const {
    for (size_t i = 0; i < end.size(); ++i) end[i] = std::max(end[i], after[i] + sends_[i]);
  }
  static void Add(double seconds, InterleavedTimes& end) {
    for (double& each : end) each += seconds;
  }

  const ChunkTime& Take(int64_t stage, int64_t step, Turns& turns) const {
    const ChunkTime& out = chunks_[static_cast<size_t>(stage * chunk_count_ + turns.chunk)];
    if (--turns.left > 0) return out;
    turns.left = stage_count();
    turns.chunk += step;
    if (turns.chunk == chunk_count_) turns.chunk = 0;
    if (turns.chunk < 0) turns.chunk = chunk_count_ - 1;
    return out;
  }

  void RunTick(int64_t tick) {
    InterleavedTimes forward = stages_.back().forward;  // of the previous tick
    const InterleavedTimes first_end = stages_.front().end;
    for (int64_t i = 0; i < stage_count(); ++i) {
      StageTicks& stage = stages_[static_cast<size_t>(i)];
      const InterleavedTimes own = stage.forward;
      if (IsPass(tick - i)) {
        if (i > 0 || stage.forwards.chunk > 0) Arrive(forward, stage.end);
        Add(Take(i, 1, stage.forwards).forward.value(), stage.end);
        stage.forward = stage.end;
      }
      if (IsPass(tick - warm_up_ + i)) {
        const bool last = i + 1 == stage_count();
        const InterleavedTimes& after = last ? first_end : stages_[static_cast<size_t>(i + 1)].end;
        const bool waits = !last || stage.backwards.chunk + 1 < chunk_count_;
        if (waits) Arrive(after, stage.end);
        const ChunkTime& time = Take(i, -1, stage.backwards);
        Add(time.input_gradient.value() + time.weight_gradient.value(), stage.end);
      }
      forward = own;
    }
  }

  const absl::Span<const ChunkTime> chunks_;
  const InterleavedTimes sends_;
  const int64_t chunk_count_;
  const int64_t passes_;  // of a stage, in each direction
  absl::InlinedVector<StageTicks, 16> stages_;
  const int64_t warm_up_;
};

}  // namespace

absl::optional<InterleavedTimes> InterleavedSeconds(const PipelineInput& in,
                                                    const InterleavedTimes& sends) {
  return Ticks(in, sends).Run();
}

}  // namespace sextant
