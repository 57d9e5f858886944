// An instant of a step at which a stage may hold the most.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_MOMENT_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_MOMENT_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/memory/schedule/schedule_work.h"

namespace sextant {

// Passes of a stage through its chunks: `stage_count` micro-batches through a chunk, as many
// through the next, and in rounds of all chunks.
struct ChunkPasses {
  int64_t stage_count = 1;
  int64_t whole_rounds = 0;  // micro-batches that every chunk is through with
  int64_t rest = 0;          // passes after those

  // Of the `chunk`th in the order of the passes.
  int64_t Of(int64_t chunk) const {
    return whole_rounds + std::clamp<int64_t>(rest - chunk * stage_count, 0, stage_count);
  }
};

// What counts:
//   held      forward pass on the chunk begun, backward pass (its input gradient half, where it is
//             split) not ended: all that the forward pass keeps is there;
//   awaiting  input gradient done, weight gradient not: inputs of matrices and gradients of their
//             outputs are there.
// The micro-batch in work counts: as held while `begins` is a backward pass or an input gradient,
// as awaiting while it is a weight gradient.
class InFlightMoment {
 public:
  ScheduleWork begins = ScheduleWork::kBackward;
  int64_t chunk = 0;  // in work, of the stage's
  absl::string_view when = "";

  int64_t Held(int64_t of_chunk) const {
    if (chunk_count_ == 0) return held_[static_cast<size_t>(of_chunk)];
    return forwards_.Of(of_chunk) - backwards_.Of(chunk_count_ - 1 - of_chunk);
  }
  int64_t AwaitingWeightGradient(int64_t of_chunk) const {
    return chunk_count_ == 0 ? awaiting_[static_cast<size_t>(of_chunk)] : 0;
  }

  // By a stage's passes so far, where it interleaves `chunk_count` chunks: backward passes take
  // them from the last to the first.
  void SetPasses(int64_t chunk_count, ChunkPasses forwards, ChunkPasses backwards) {
    chunk_count_ = chunk_count;
    forwards_ = forwards;
    backwards_ = backwards;
  }
  // By chunk, where there are one or two.
  void SetCounts(std::array<int64_t, 2> held, std::array<int64_t, 2> awaiting) {
    held_ = held;
    awaiting_ = awaiting;
  }

 private:
  int64_t chunk_count_ = 0;  // 0: of SetCounts()
  ChunkPasses forwards_;
  ChunkPasses backwards_;
  std::array<int64_t, 2> held_ = {};
  std::array<int64_t, 2> awaiting_ = {};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_IN_FLIGHT_MOMENT_H_
