// How many micro-batches each stage of a pipeline holds activations of, chunk by chunk, when it
// holds the most. docs/memory_schedules.md derives the counts.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/memory/schedule/in_flight_moment.h"
#include "engine/memory/schedule/moment_list.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// What a chunk of a stage weighs.
struct ChunkBytes {
  Bytes held = Bytes(0);                      // a micro-batch held
  Bytes awaiting_weight_gradient = Bytes(0);  // a micro-batch whose backward pass is half done
  Bytes backward_work = Bytes(0);         // beside them while a backward pass, whole or its first
                                          // half, is in work: what is computed again, transients
  Bytes weight_gradient_work = Bytes(0);  // the same of the second half
};

struct InFlightPeak {
  InFlightMoment moment;
  Bytes size = Bytes(0);
};

// Of a step of one pipeline. Nothing here allocates where nothing is wrong, and no cost grows with
// the micro-batches.
class InFlight {
 public:
  // Errors: what CheckPipeline() finds under `path`.
  static absl::StatusOr<InFlight> Of(const PipelineSpec& pipeline, const ParallelLayout& layout,
                                     absl::string_view path);

  // For what CheckPipeline() has passed.
  InFlight(const PipelineSpec& pipeline, const ParallelLayout& layout);

  int64_t stage_count() const { return stage_count_; }

  // Chunks of layers on a stage. Chunk c of stage i is the layout's chunk c stage_count() + i; but
  // under DualPipe, chunk 0 is that of stage i, and chunk 1 that of the opposite stage,
  // stage_count() - 1 - i, for micro-batches that come from the other end.
  int64_t chunk_count() const;

  // Visits the moments among which the peak of `stage` is, whatever its chunks weigh. Moments are
  // compared where the same begins on the same chunk, a backward pass being as its first half: at
  // each other one of a step the stage holds no more than at one of these, or than at a weighted
  // mean of two. At most 3 a chunk of interleaved stages, 3 of other schedules, 15 of DualPipe.
  void ForEachMoment(int64_t stage, MomentVisitor visit) const;

  // Whether no stage holds more than the one before it, if their chunks weigh the same.
  bool FirstStagesHoldMost() const {
    return virtual_stage_count_ == 1 && (schedule_ == PipelineSchedule::kOneForwardOneBackward ||
                                         schedule_ == PipelineSchedule::kGPipe);
  }

  // The moment at which the stage's chunk_count() chunks weigh the most, and what they do:
  // O(chunks) time. The first of several.
  //
  // Errors: kInvalidArgument "pipeline" where that is more than 9.2e18 bytes.
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
