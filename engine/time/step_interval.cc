#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/types/span.h"
#include "engine/time/step_time.h"

namespace sextant {
namespace {

// The relative standard error of each part of a step whose kernels were measured or published. The
// errors of one part's kernels and exchanges are shared, those of two parts independent.
// Source: docs/step_time.md, "The interval of a step".
constexpr std::array<double, kStepCauseCount> kDoubts = {
    0.06,  // matmul
    0.15,  // experts
    0.15,  // attention
    0.25,  // memory_pass
    0.3,   // tensor_exchange
    0.6,   // context_exchange
    0.4,   // expert_exchange
    0.6,   // shard_exchange
    0.4,   // host
    0.5,   // pipeline_exchange
    0.25,  // pipeline_bubble
    0.5,   // data_exchange
    0.5,   // optimizer
    0.6,   // scale
    0.5,   // host_copy
    0.5,   // host_optimizer
};
constexpr double kDoubtOfAll = 0.03;
// Recurrences: their kernels were never measured, and published ones are slower
// than their products alone. Source: docs/blocks.md, "Time".
constexpr double kDoubtOfMixersBelow = 0.5;
constexpr double kDoubtOfMixersAbove = 1.0;

// Distances of the 80 % interval's ends in standard errors, by StepClass: those that cover the rows
// of families left out (docs/accuracy_step_time.md).
struct ClassEnds {
  double below;
  double above;
};
constexpr ClassEnds kClassEnds[] = {{1.0, 0.8}, {1.25, 1.45}, {1.0, 2.4}, {2.0, 3.5}, {1.4, 4.0}};
static_assert(sizeof(kClassEnds) / sizeof(kClassEnds[0]) == kStepClassCount);
// An 80 % interval of a normal distribution, in standard errors each way.
constexpr double kEndOfKernels = 1.2816;

// The ends of the kernels of `kind` relative to their time, on the slowest stage.
KindEnds EndsOf(const StageTime& stage, KernelKind kind) {
  KindEnds ends;
  for (const WorkSeconds* const work : {&stage.layers, &stage.outside}) {
    ends.below += work->ends[static_cast<size_t>(kind)].below;
    ends.above += work->ends[static_cast<size_t>(kind)].above;
  }
  if (ends.below == 0 && ends.above == 0) return {};
  double all = 0;
  for (const WorkSeconds* const work : {&stage.layers, &stage.outside}) {
    all += work->forward.of(kind) + work->input_gradient.of(kind) + work->weight_gradient.of(kind);
  }
  if (all <= 0) return {};
  return {ends.below / all / kEndOfKernels, ends.above / all / kEndOfKernels};
}

// Their share of the step's time: of its kernels' as of the slowest stage's.
double MixerShare(const StageTime& stage, const StepEstimate& out, double all) {
  const double kernels = stage.kernels();
  const double mixers = stage.layers.mixers + stage.outside.mixers;
  if (mixers == 0 || kernels <= 0 || all <= 0) return 0;
  double parts = 0;
  for (size_t i = 0; i < kKernelKindCount; ++i) parts += out.parts[i];
  return mixers / kernels * parts / all;
}

const StageTime& StageAt(absl::Span<const StageTime> stages, int64_t stage) {
  for (const StageTime& each : stages) {
    if (stage < each.first_stage + each.stage_count) return each;
  }
  return stages.back();
}

}  // namespace

absl::string_view StepCauseName(StepCause cause) {
  constexpr absl::string_view kNames[] = {
      "matmul",           "experts",         "attention",      "memory_pass", "tensor_exchange",
      "context_exchange", "expert_exchange", "shard_exchange", "host",        "pipeline_exchange",
      "pipeline_bubble",  "data_exchange",   "optimizer",      "scale",       "host_copy",
      "host_optimizer"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kStepCauseCount);
  return kNames[static_cast<size_t>(cause)];
}

SecondsInterval StepInterval(const StepInput& in, const StepEstimate& out) {
  const StageTime& stage = StageAt(in.stages, out.slowest_stage);
  const double all = out.seconds.expected.value();
  double below = kDoubtOfAll * kDoubtOfAll;
  double above = below;
  constexpr KernelKind kKinds[] = {KernelKind::kMatmul, KernelKind::kGroupedMatmul,
                                   KernelKind::kAttention, KernelKind::kMemoryPass};
  for (size_t i = 0; i < kStepCauseCount; ++i) {
    if (out.parts[i] == 0 || all <= 0) continue;
    const double share = out.parts[i] / all;
    KindEnds ends;
    if (i < kKernelKindCount) ends = EndsOf(stage, kKinds[i]);
    below += std::pow(share * std::max(kDoubts[i], ends.below), 2);
    above += std::pow(share * std::max(kDoubts[i], ends.above), 2);
  }
  const double mixers = MixerShare(stage, out, all);
  below += std::pow(mixers * kDoubtOfMixersBelow, 2);
  above += std::pow(mixers * kDoubtOfMixersAbove, 2);
  const ClassEnds& ends = kClassEnds[static_cast<size_t>(in.step_class)];
  const Seconds expected = out.seconds.expected;
  return {expected * std::exp(-ends.below * std::sqrt(below)), expected,
          expected * std::exp(ends.above * std::sqrt(above))};
}

}  // namespace sextant
