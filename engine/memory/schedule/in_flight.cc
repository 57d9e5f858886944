#include "engine/memory/schedule/in_flight.h"

#include <algorithm>
#include <limits>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/memory/schedule/check_pipeline.h"

namespace sextant {
namespace {

// 1e9 micro-batches on 65,536 chunks of 9.2e18 bytes: 6e32.
__extension__ typedef __int128 WideBytes;

class PeakSearch {
 public:
  PeakSearch(const StageOfPipeline& of, absl::Span<const ChunkBytes> chunks)
      : of_(of), chunks_(chunks) {}

  void Visit(const InFlightMoment& moment) {
    const int64_t chunk_count = static_cast<int64_t>(chunks_.size());
    if (chunk_count > 2 && visited_) {
      Run(last_.forwards(), moment.forwards(), 1);
      Run(last_.backwards(), moment.backwards(), -1);
    } else {
      kept_ = 0;
      for (int64_t chunk = 0; chunk < chunk_count; ++chunk) {
        kept_ += WideBytes{moment.Held(chunk)} * At(chunk).held.value();
        kept_ += WideBytes{moment.AwaitingWeightGradient(chunk)} *
                 At(chunk).awaiting_weight_gradient.value();
      }
    }
    const ChunkBytes& in_work = At(moment.chunk);
    const Bytes work = moment.begins == ScheduleWork::kWeightGradient ? in_work.weight_gradient_work
                                                                      : in_work.backward_work;
    const WideBytes size = kept_ + work.value();
    if (!visited_ || size > most_) {
      most_ = size;
      peak_ = moment;
    }
    last_ = moment;
    visited_ = true;
  }

  absl::StatusOr<InFlightPeak> Result() const {
    if (most_ > std::numeric_limits<int64_t>::max()) {
      return InvalidField("pipeline", "has more than 9.2e18 bytes of activations in flight");
    }
    return InFlightPeak{.moment = peak_, .size = Bytes(static_cast<int64_t>(most_))};
  }

 private:
  const ChunkBytes& At(int64_t chunk) const { return chunks_[static_cast<size_t>(chunk)]; }

  // The passes of interleaved stages between two moments, chunk by chunk: with thousands of chunks,
  // adding all of them up at each moment would take seconds.
  void Run(const ChunkPasses& from, const ChunkPasses& to, int sign) {
    const int64_t chunk_count = static_cast<int64_t>(chunks_.size());
    const int64_t end = to.Passes(chunk_count);
    for (int64_t pass = from.Passes(chunk_count); pass < end;) {
      const int64_t block = pass / of_.stage_count;
      const int64_t block_end = std::min(end, (block + 1) * of_.stage_count);
      const int64_t turn = block % chunk_count;
      const int64_t chunk = sign > 0 ? turn : chunk_count - 1 - turn;
      kept_ += WideBytes{sign * (block_end - pass)} * At(chunk).held.value();
      pass = block_end;
    }
  }

  const StageOfPipeline& of_;
  const absl::Span<const ChunkBytes> chunks_;
  bool visited_ = false;
  InFlightMoment last_;
  InFlightMoment peak_;
  WideBytes kept_ = 0;  // at last_
  WideBytes most_ = 0;
};

}  // namespace

absl::StatusOr<InFlight> InFlight::Of(const PipelineSpec& pipeline, const ParallelLayout& layout,
                                      absl::string_view path) {
  FieldViolations violations;
  CheckPipeline(pipeline, layout, path, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return InFlight(pipeline, layout);
}

InFlight::InFlight(const PipelineSpec& pipeline, const ParallelLayout& layout)
    : schedule_(pipeline.schedule),
      stage_count_(layout.pipeline_parallel_size),
      virtual_stage_count_(layout.virtual_stage_count),
      micro_batch_count_(pipeline.micro_batch_count) {}

int64_t InFlight::chunk_count() const {
  return schedule_ == PipelineSchedule::kDualPipe ? 2 : virtual_stage_count_;
}

void InFlight::ForEachMoment(int64_t stage, MomentVisitor visit) const {
  const StageOfPipeline of = StageAt(stage);
  switch (schedule_) {
    case PipelineSchedule::kZeroBubbleH1:
      return VisitZeroBubble(of, {.ahead = stage_count_ - stage, .delay = stage}, visit);
    case PipelineSchedule::kZeroBubbleH2:
      return VisitZeroBubble(of, {.ahead = 2 * (stage_count_ - stage) - 1, .delay = 2 * stage},
                             visit);
    case PipelineSchedule::kDualPipe:
      return VisitDualPipe(of, visit);
    case PipelineSchedule::kGPipe:
      return VisitOneChunk(micro_batch_count_, "first backward pass", visit);
    case PipelineSchedule::kOneForwardOneBackward:
      if (virtual_stage_count_ > 1) return VisitInterleaved(of, visit);
      return VisitOneChunk(std::min(micro_batch_count_, stage_count_ - stage), "steady state",
                           visit);
  }
}

absl::StatusOr<InFlightPeak> InFlight::Peak(int64_t stage,
                                            absl::Span<const ChunkBytes> chunks) const {
  PeakSearch search(StageAt(stage), chunks);
  ForEachMoment(stage, [&](const InFlightMoment& moment) { search.Visit(moment); });
  return search.Result();
}

}  // namespace sextant
