// The number of micro-batches whose activations each stage of a pipeline holds at its peak, chunk
// by chunk. docs/memory_schedules.md, "Counts", derives the counts.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/memory/schedule/in_flight_point.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// The bytes of a chunk of a stage.
struct ChunkBytes {
  Bytes held = Bytes(0);                      // per micro-batch held
  Bytes awaiting_weight_gradient = Bytes(0);  // per micro-batch whose backward pass is half done
  Bytes backward_work = Bytes(0);             // added by the backward pass in work, whole or first
                                              // half: recomputed tensors, transients
  Bytes weight_gradient_work = Bytes(0);      // the same for the second half

  friend bool operator==(const ChunkBytes&, const ChunkBytes&) = default;
};

struct InFlightPeak {
  InFlightPoint point;
  Bytes size = Bytes(0);
};

// The micro-batches in flight during a step of one pipeline. Nothing here allocates unless there
// is an error, and no cost grows with the number of micro-batches.
class InFlight {
 public:
  // Errors: CheckPipeline()'s.
  static absl::StatusOr<InFlight> Of(const PipelineSpec& pipeline, const ParallelLayout& layout);

  // `pipeline` and `layout` have passed CheckPipeline().
  InFlight(const PipelineSpec& pipeline, const ParallelLayout& layout);

  int64_t stage_count() const { return stage_count_; }

  // Chunks of layers on a stage. Chunk c of stage i is the layout's chunk c stage_count() + i.
  // Under DualPipe, chunk 0 is that of stage i, and chunk 1 is that of the opposite stage,
  // stage_count() - 1 - i, for micro-batches that come from the other end.
  int64_t chunk_count() const;

  // Visits the candidate points for the peak of `stage`, for any chunk bytes. Points are
  // compared where the same work begins on the same chunk; a whole backward pass counts as its
  // first half. At every other point of a step the stage holds no more than at one of these, or
  // than at a weighted mean of two. At most 3 per chunk for interleaved stages, 3 for other
  // schedules, 15 for DualPipe.
  void ForEachPoint(int64_t stage, PointVisitor visit) const;

  // True where no stage holds more than the previous one if their chunks have equal bytes: at each
  // backward pass, both have run the same passes back, and the later one no more forward.
  bool FirstStagesHoldMost() const {
    return schedule_ == PipelineSchedule::kOneForwardOneBackward ||
           schedule_ == PipelineSchedule::kGPipe;
  }

  // The point at which the stage's chunk_count() chunks hold the most bytes, and these bytes. The
  // first of several. O(chunks) time.
  //
  // Errors: kInvalidArgument "layout.global_batch_size" where that is more than 9.2e18 bytes.
  absl::StatusOr<InFlightPeak> Peak(int64_t stage, absl::Span<const ChunkBytes> chunks) const;

 private:
  StageOfPipeline StageAt(int64_t stage) const {
    return {.stage = stage,
            .stage_count = stage_count_,
            .virtual_stage_count = virtual_stage_count_,
            .micro_batch_count = micro_batch_count_};
  }

  PipelineSchedule schedule_;
  int64_t stage_count_;
  int64_t virtual_stage_count_;
  int64_t micro_batch_count_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_H_
