#include "engine/time/step_pipeline.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/optional.h"
#include "engine/time/pipeline_formula.h"
#include "engine/time/pipeline_time.h"

namespace sextant {
namespace {

bool HasTwoEnds(const StepInput& in) {
  return in.job.pipeline.schedule == PipelineSchedule::kDualPipe;
}

// Zero-bubble schedules let a stage begin its next step before the others end: Qi et al. 2023
// (arXiv 2401.10241) section 4.
bool OptimizerWaits(PipelineSchedule schedule) {
  return schedule != PipelineSchedule::kZeroBubbleH1 && schedule != PipelineSchedule::kZeroBubbleH2;
}

// Chunks of interleaved stages have equal parts of the stage's layers; what is outside the layers
// is in the first chunk of the first stages, and in the last one of the last stage.
ChunkTime ChunkOf(const StageSeconds& stage, size_t chunk, bool ends_last, double chunks) {
  const bool has_ends = ends_last ? static_cast<double>(chunk + 1) == chunks : chunk == 0;
  const auto of = [&](double layers, double outside) {
    return Seconds(layers / chunks + (has_ends ? outside : 0));
  };
  const StepPasses& layers = stage.layers;
  const StepPasses& outside = stage.outside;
  return {.forward = of(layers.forward, outside.forward),
          .input_gradient = of(layers.input_gradient, outside.input_gradient),
          .weight_gradient = of(layers.weight_gradient, outside.weight_gradient)};
}

std::vector<ChunkTime> ChunksOf(const StepInput& in, absl::Span<const StageSeconds> seconds) {
  const auto count = static_cast<size_t>(in.job.layout.virtual_stage_count);
  std::vector<ChunkTime> out;
  const StageTime& end = in.stages.back();
  out.reserve(static_cast<size_t>(end.first_stage + end.stage_count) *
              (count + (HasTwoEnds(in) ? 1 : 0)));
  for (size_t kind = 0; kind < seconds.size(); ++kind) {
    for (int64_t i = 1; i <= in.stages[kind].stage_count; ++i) {
      const bool last = kind + 1 == seconds.size() && i == in.stages[kind].stage_count;
      for (size_t c = 0; c < count; ++c) {
        out.push_back(ChunkOf(seconds[kind], c, last, static_cast<double>(count)));
      }
      if (HasTwoEnds(in)) out.push_back(ChunkOf(seconds[OppositeOf(in, kind)], 0, false, 1));
    }
  }
  return out;
}

// 1F1B whose stages have the same layers, and nothing outside of them but on the first and the
// last stage.
absl::optional<EvenPipeline> AsEven(const StepInput& in, absl::Span<const StageSeconds> seconds) {
  if (in.job.pipeline.schedule != PipelineSchedule::kOneForwardOneBackward) return absl::nullopt;
  const StepPasses& layers = seconds.front().layers;
  for (size_t i = 1; i < seconds.size(); ++i) {
    if (seconds[i].layers != layers) return absl::nullopt;
    if (i + 1 < seconds.size() && seconds[i].outside.all() > 0) return absl::nullopt;
  }
  const int64_t stages = in.stages.back().first_stage + in.stages.back().stage_count;
  const bool ends_alone = in.stages.front().stage_count == 1 && in.stages.back().stage_count == 1;
  if (stages > 1 && !ends_alone) return absl::nullopt;
  const auto pair = [](const StepPasses& passes, double times) {
    return PassPair{passes.forward * times, passes.backward() * times};
  };
  const auto chunks = static_cast<double>(in.job.layout.virtual_stage_count);
  return EvenPipeline{.stage_count = stages,
                      .chunk_count = in.job.layout.virtual_stage_count,
                      .micro_batch_count = in.job.pipeline.micro_batch_count,
                      .chunk = pair(layers, 1 / chunks),
                      .first = pair(seconds.front().outside, 1),
                      .last = stages > 1 ? pair(seconds.back().outside, 1) : PassPair()};
}

StepPipelineSeconds InOrder(const StepInput& in, absl::Span<const StageSeconds> seconds,
                            double send) {
  if (const absl::optional<EvenPipeline> even = AsEven(in, seconds); even.has_value()) {
    const absl::optional<double> total = EvenPipelineSeconds(*even, send);
    if (total.has_value()) return {*total, *total - EvenPipelineSeconds(*even, 0).value_or(0)};
  }
  const std::vector<ChunkTime> chunks = ChunksOf(in, seconds);
  const PipelineTime time = TimeOfPipeline({.pipeline = in.job.pipeline,
                                            .layout = in.job.layout,
                                            .chunks = chunks,
                                            .send = Seconds(send)});
  const bool waits = OptimizerWaits(in.job.pipeline.schedule);
  return {(waits ? time.total : time.longest_stage).value(), time.sends.value(), time.passes};
}

// From the last stage's last backward pass to the first stage's: a chunk of each stage between.
double EndOf(const StepInput& in, absl::Span<const StageSeconds> seconds, double send) {
  const auto chunks = static_cast<double>(in.job.layout.virtual_stage_count);
  double out = seconds.front().outside.backward();
  for (size_t i = 0; i + 1 < seconds.size(); ++i) {
    const double backward = seconds[i].layers.backward() / chunks + send;
    out += static_cast<double>(in.stages[i].stage_count) * backward;
  }
  return out;
}

}  // namespace

// While the other stages end, the last one computes the head's weight gradients that it put off.
// Source: NVIDIA/Megatron-LM, megatron/core/pipeline_parallel/schedules.py,
// finish_embedding_wgrad_compute().
StepPipelineSeconds PipelineOf(const StepInput& in, absl::Span<const StageSeconds> seconds,
                               double send) {
  const PipelineSpec& pipeline = in.job.pipeline;
  if (pipeline.deferred_head_gradients == 0 || seconds.size() < 2) {
    return InOrder(in, seconds, send);
  }
  const auto count = static_cast<double>(pipeline.micro_batch_count);
  const double deferred = std::min(static_cast<double>(pipeline.deferred_head_gradients), count);
  absl::InlinedVector<StageSeconds, 4> each(seconds.begin(), seconds.end());
  const double head = each.back().head_gradient;
  each.back().outside.weight_gradient -= head * deferred / count;
  StepPipelineSeconds out = InOrder(in, each, send);
  out.total += std::max(0.0, deferred * head - EndOf(in, each, send));
  return out;
}

double LeastPipelineOf(const StepInput& in, absl::Span<const StageSeconds> seconds) {
  const PipelineSchedule schedule = in.job.pipeline.schedule;
  if (HasTwoEnds(in) || !OptimizerWaits(schedule)) return 0;
  const auto chunks = static_cast<double>(in.job.layout.virtual_stage_count);
  const auto count = static_cast<double>(in.job.pipeline.micro_batch_count);
  const double deferred =
      std::min(static_cast<double>(in.job.pipeline.deferred_head_gradients), count);
  double way = 0;
  double out = 0;
  double longest = 0;
  double all = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const auto stages = static_cast<double>(in.stages[i].stage_count);
    const StageSeconds& stage = seconds[i];
    // The head's gradients that the last stage puts off may be hidden (PipelineOf()).
    const bool is_last = i + 1 == seconds.size();
    const double work = stage.all() * count - (is_last ? deferred * stage.head_gradient : 0);
    const double first_chunk = stage.layers.all() / chunks + stage.outside.all();
    out = std::max(out, way + (stages - 1) * first_chunk + work);
    way += stages * first_chunk;
    longest = std::max(longest, work);
    all += stages * stage.all();
  }
  const auto stages = static_cast<double>(in.job.layout.pipeline_parallel_size);
  return std::min(out, longest + (stages - 1) * all / (stages * chunks));
}

size_t OppositeOf(const StepInput& in, size_t kind) {
  if (!HasTwoEnds(in)) return kind;
  const StageTime& last = in.stages.back();
  const int64_t stage = last.first_stage + last.stage_count - 1 - in.stages[kind].first_stage;
  const auto found = std::partition_point(
      in.stages.begin(), in.stages.end(),
      [stage](const StageTime& each) { return each.first_stage + each.stage_count <= stage; });
  return static_cast<size_t>(found - in.stages.begin());
}

}  // namespace sextant
