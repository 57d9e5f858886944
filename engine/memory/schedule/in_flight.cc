// Finds the peak of a stage at a few candidate points instead of all points of a step: between
// candidates the numbers of micro-batches held change linearly, so their weighted sum is largest at
// a candidate. There are 1 to 3 candidates, 15 for DualPipe, and up to 3 per chunk for interleaved
// stages. For these InterleavedSearch updates the sum from one candidate to the next: v chunks take
// O(v) time, where adding up all chunks at each candidate would take O(v^2).
#include "engine/memory/schedule/in_flight.h"

#include <algorithm>
#include <limits>

#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/memory/schedule/pipeline_schedule.h"

namespace sextant {
namespace {

// 1e9 micro-batches on 16,384 chunks of 9.2e18 bytes: 1.5e32.
__extension__ typedef __int128 WideBytes;

absl::StatusOr<InFlightPeak> PeakOf(const InFlightPoint& point, WideBytes size) {
  if (size > std::numeric_limits<int64_t>::max()) {
    return InvalidField("layout.global_batch_size",
                        "has more than 9.2e18 bytes of activations in flight");
  }
  return InFlightPeak{.point = point, .size = Bytes(static_cast<int64_t>(size))};
}

WideBytes BytesAt(const InFlightPoint& point, absl::Span<const ChunkBytes> chunks) {
  const ChunkBytes& in_work = chunks[static_cast<size_t>(point.chunk)];
  const bool second_half = point.begins == ScheduleWork::kWeightGradient;
  WideBytes sum = (second_half ? in_work.weight_gradient_work : in_work.backward_work).value();
  for (size_t i = 0; i < chunks.size(); ++i) {
    const int64_t chunk = static_cast<int64_t>(i);
    sum += WideBytes{point.Held(chunk)} * chunks[i].held.value();
    sum +=
        WideBytes{point.AwaitingWeightGradient(chunk)} * chunks[i].awaiting_weight_gradient.value();
  }
  return sum;
}

// True for most interleaved stages. Nothing awaits there.
bool AllAlike(absl::Span<const ChunkBytes> chunks) {
  return std::all_of(chunks.begin(), chunks.end(), [&](const ChunkBytes& chunk) {
    return chunk.held == chunks[0].held && chunk.backward_work == chunks[0].backward_work;
  });
}

// True where no sum of the chunks' bytes, all micro-batches in flight, exceeds an int64.
bool SumsFit(int64_t micro_batch_count, absl::Span<const ChunkBytes> chunks) {
  CheckedInt held = 0;
  int64_t work = 0;
  for (const ChunkBytes& chunk : chunks) {
    held = held + chunk.held.value();
    work = std::max(work, chunk.backward_work.value());
  }
  return (held * micro_batch_count * 2 + work).ok();
}

// Updates the bytes of interleaved stages from one position to the next: with thousands of chunks,
// summing all of them at each position would take seconds. Sums are of type Sum.
template <typename Sum>
class InterleavedSearch {
 public:
  InterleavedSearch(const StageOfPipeline& of, absl::Span<const ChunkBytes> chunks)
      : of_(of), chunks_(chunks) {}

  void Visit(const InterleavedPosition& position) {
    if (!started_) {
      Start(position);
    } else {
      held_ += forwards_.Run(position.forwards - at_.forwards, of_, chunks_);
      held_ -= backwards_.Run(position.backwards - at_.backwards, of_, chunks_);
    }
    at_ = position;
    const Sum size = held_ + chunks_[static_cast<size_t>(position.chunk)].backward_work.value();
    if (size <= most_) return;
    most_ = size;
    peak_ = position;
  }

  absl::StatusOr<InFlightPeak> Result() const { return PeakOf(PointAt(of_, peak_), most_); }

 private:
  // Passes that cycle through the chunks, stage_count passes per chunk.
  struct Round {
    int64_t chunk = 0;
    int64_t left = 0;  // before the next chunk's turn
    int64_t step = 1;

    // The held bytes of the chunks of the next `passes` passes.
    Sum Run(int64_t passes, const StageOfPipeline& of, absl::Span<const ChunkBytes> chunks) {
      Sum sum = 0;
      while (passes > 0) {
        const int64_t now = std::min(passes, left);
        sum += Sum{now} * chunks[static_cast<size_t>(chunk)].held.value();
        passes -= now;
        left -= now;
        if (left > 0) continue;
        left = of.stage_count;
        chunk += step;
        if (chunk == of.virtual_stage_count) chunk = 0;
        if (chunk < 0) chunk = of.virtual_stage_count - 1;
      }
      return sum;
    }
  };

  void Start(const InterleavedPosition& position) {
    started_ = true;
    const int64_t last = of_.virtual_stage_count - 1;
    const int64_t block = position.forwards / of_.stage_count;
    forwards_ = {.chunk = block % of_.virtual_stage_count,
                 .left = of_.stage_count - position.forwards % of_.stage_count};
    backwards_ = {.chunk = last, .left = of_.stage_count, .step = -1};
    backwards_.Run(position.backwards, of_, chunks_);
    const InFlightPoint point = PointAt(of_, position);
    for (int64_t chunk = 0; chunk <= last; ++chunk) {
      held_ += Sum{point.Held(chunk)} * chunks_[static_cast<size_t>(chunk)].held.value();
    }
  }

  const StageOfPipeline& of_;
  const absl::Span<const ChunkBytes> chunks_;
  bool started_ = false;
  InterleavedPosition at_;
  InterleavedPosition peak_;
  Round forwards_;
  Round backwards_;
  Sum held_ = 0;
  Sum most_ = -1;
};

template <typename Sum>
absl::StatusOr<InFlightPeak> PeakOfInterleaved(const StageOfPipeline& of,
                                               absl::Span<const ChunkBytes> chunks) {
  InterleavedSearch<Sum> search(of, chunks);
  VisitInterleaved(of, [&](const InterleavedPosition& position) { search.Visit(position); });
  return search.Result();
}

}  // namespace

absl::StatusOr<InFlight> InFlight::Of(const PipelineSpec& pipeline, const ParallelLayout& layout) {
  FieldViolations violations;
  CheckPipeline(pipeline, layout, violations);
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

void InFlight::ForEachPoint(int64_t stage, PointVisitor visit) const {
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
      if (virtual_stage_count_ > 1) {
        return VisitInterleaved(
            of, [&](const InterleavedPosition& position) { visit(PointAt(of, position)); });
      }
      return VisitOneChunk(std::min(micro_batch_count_, stage_count_ - stage), "steady state",
                           visit);
  }
}

absl::StatusOr<InFlightPeak> InFlight::Peak(int64_t stage,
                                            absl::Span<const ChunkBytes> chunks) const {
  const StageOfPipeline of = StageAt(stage);
  if (virtual_stage_count_ > 1) {
    if (AllAlike(chunks)) {
      const InterleavedPosition first = FirstInterleaved(of);
      return PeakOf(PointAt(of, first), WideBytes{first.forwards} * chunks[0].held.value() +
                                            chunks[0].backward_work.value());
    }
    return SumsFit(micro_batch_count_, chunks) ? PeakOfInterleaved<int64_t>(of, chunks)
                                               : PeakOfInterleaved<WideBytes>(of, chunks);
  }
  InFlightPoint peak;
  WideBytes most = -1;
  ForEachPoint(stage, [&](const InFlightPoint& point) {
    const WideBytes size = BytesAt(point, chunks);
    if (size <= most) return;
    most = size;
    peak = point;
  });
  return PeakOf(peak, most);
}

}  // namespace sextant
