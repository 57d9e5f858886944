// The instants of a step at which a stage may hold the most, schedule by schedule.
// docs/memory_schedules.md derives them.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_POINT_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_POINT_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "engine/memory/schedule/pipeline_schedule.h"

namespace sextant {

// Passes of a stage through its chunks: `stage_count` micro-batches through one chunk, the same
// number through the next, in rounds of all chunks.
struct ChunkPasses {
  int64_t stage_count = 1;
  int64_t whole_rounds = 0;  // micro-batches done on every chunk
  int64_t rest = 0;          // passes after those

  // Passes through the `chunk`th chunk in pass order.
  int64_t Of(int64_t chunk) const {
    return whole_rounds + std::clamp<int64_t>(rest - chunk * stage_count, 0, stage_count);
  }
};

// An instant of a step, as counts of the micro-batches of each chunk:
//   held      forward pass on the chunk begun, backward pass (its input gradient half, where it is
//             split) not ended: everything that the forward pass keeps is alive;
//   awaiting  input gradient done, weight gradient not: inputs of matrices and gradients of their
//             outputs are alive.
// The micro-batch in work is included: as held while `begins` is a backward pass or an input
// gradient, as awaiting while it is a weight gradient.
class InFlightPoint {
 public:
  ScheduleWork begins = ScheduleWork::kBackward;
  int64_t chunk = 0;  // in work; index within the stage
  absl::string_view when = "";

  int64_t Held(int64_t of_chunk) const {
    if (chunk_count_ == 0) return CountOf(held_, of_chunk);
    return forwards_.Of(of_chunk) - backwards_.Of(chunk_count_ - 1 - of_chunk);
  }
  int64_t AwaitingWeightGradient(int64_t of_chunk) const {
    return chunk_count_ == 0 ? CountOf(awaiting_, of_chunk) : 0;
  }

  // Sets the counts from a stage's passes so far, where it interleaves `chunk_count` chunks.
  // Backward passes go from the last chunk to the first.
  void SetPasses(int64_t chunk_count, ChunkPasses forwards, ChunkPasses backwards) {
    chunk_count_ = chunk_count;
    forwards_ = forwards;
    backwards_ = backwards;
  }
  // Sets the counts by chunk, for one or two chunks.
  void SetCounts(std::array<int64_t, 2> held, std::array<int64_t, 2> awaiting) {
    held_ = held;
    awaiting_ = awaiting;
  }

 private:
  // A point at which nothing is in flight has no counts, of however many chunks.
  static int64_t CountOf(const std::array<int64_t, 2>& counts, int64_t of_chunk) {
    return of_chunk < 2 ? counts[static_cast<size_t>(of_chunk)] : 0;
  }

  int64_t chunk_count_ = 0;  // 0: set by SetCounts(), or nothing is in flight
  ChunkPasses forwards_;
  ChunkPasses backwards_;
  std::array<int64_t, 2> held_ = {};
  std::array<int64_t, 2> awaiting_ = {};
};

using PointVisitor = absl::FunctionRef<void(const InFlightPoint&)>;

struct StageOfPipeline {
  int64_t stage = 0;
  int64_t stage_count = 1;
  int64_t virtual_stage_count = 1;
  int64_t micro_batch_count = 1;
};

// Visits the point of schedules with one chunk per stage and whole backward passes.
void VisitOneChunk(int64_t held, absl::string_view when, PointVisitor visit);

// Interleaved 1F1B: the point at which the backward pass after `backwards` others begins, on
// `chunk`.
struct InterleavedPosition {
  int64_t forwards = 0;
  int64_t backwards = 0;
  int64_t chunk = 0;
  absl::string_view when = "";
};

// Visits positions in the order of the step.
void VisitInterleaved(const StageOfPipeline& of,
                      absl::FunctionRef<void(const InterleavedPosition&)> visit);

// The first backward pass: no later one begins with more passes in flight, summed over chunks.
InterleavedPosition FirstInterleaved(const StageOfPipeline& of);
InFlightPoint PointAt(const StageOfPipeline& of, const InterleavedPosition& position);

// A zero-bubble schedule's stage runs `ahead` forward passes before its first backward pass. It
// defers the weight gradient of a micro-batch until after the backward pass of the micro-batch
// `delay` later.
struct ZeroBubbleShape {
  int64_t ahead = 1;
  int64_t delay = 0;
};

void VisitZeroBubble(const StageOfPipeline& of, ZeroBubbleShape shape, PointVisitor visit);
void VisitDualPipe(const StageOfPipeline& of, PointVisitor visit);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_POINT_H_
