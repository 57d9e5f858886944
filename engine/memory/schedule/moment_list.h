// The moments of one stage, schedule by schedule. docs/memory_schedules.md derives them.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_MOMENT_LIST_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_MOMENT_LIST_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "engine/memory/schedule/in_flight_moment.h"

namespace sextant {

using MomentVisitor = absl::FunctionRef<void(const InFlightMoment&)>;

struct StageOfPipeline {
  int64_t stage = 0;
  int64_t stage_count = 1;
  int64_t virtual_stage_count = 1;
  int64_t micro_batch_count = 1;
};

// Schedules of one chunk a stage that split no backward pass.
void VisitOneChunk(int64_t held, absl::string_view when, MomentVisitor visit);

// Interleaved 1F1B: as the backward pass after `backwards` others begins, on `chunk`.
struct InterleavedPosition {
  int64_t forwards = 0;
  int64_t backwards = 0;
  int64_t chunk = 0;
  absl::string_view when = "";
};
// In the order of the step.
void VisitInterleaved(const StageOfPipeline& of,
                      absl::FunctionRef<void(const InterleavedPosition&)> visit);
// The first backward pass: no later one begins with more passes in flight, of all chunks together.
InterleavedPosition FirstInterleaved(const StageOfPipeline& of);
InFlightMoment MomentAt(const StageOfPipeline& of, const InterleavedPosition& position);

// A zero-bubble schedule's stage runs `ahead` forward passes before its first backward pass, and
// puts off the weight gradient of a micro-batch until after the backward pass of the one that
// comes `delay` later.
struct ZeroBubbleShape {
  int64_t ahead = 1;
  int64_t delay = 0;
};
void VisitZeroBubble(const StageOfPipeline& of, ZeroBubbleShape shape, MomentVisitor visit);

void VisitDualPipe(const StageOfPipeline& of, MomentVisitor visit);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_MOMENT_LIST_H_
