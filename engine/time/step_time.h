// The time of one training step under a layout: kernels, exchanges, pipeline and software, with an
// 80 % interval. Derivation: docs/step_time.md.
#ifndef SEXTANT_ENGINE_TIME_STEP_TIME_H_
#define SEXTANT_ENGINE_TIME_STEP_TIME_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/framework/software_stack.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/time/operation_pricer.h"
#include "engine/time/stage_time.h"

namespace sextant {

// Seconds of the passes of a micro-batch.
struct StepPasses {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;

  double backward() const { return input_gradient + weight_gradient; }
  double all() const { return forward + input_gradient + weight_gradient; }

  StepPasses Plus(const StepPasses& o) const {
    return {forward + o.forward, input_gradient + o.input_gradient,
            weight_gradient + o.weight_gradient};
  }
  StepPasses Least(const StepPasses& o) const {
    return {std::min(forward, o.forward), std::min(input_gradient, o.input_gradient),
            std::min(weight_gradient, o.weight_gradient)};
  }
  StepPasses Less(const StepPasses& o) const {
    return {forward - o.forward, input_gradient - o.input_gradient,
            weight_gradient - o.weight_gradient};
  }

  friend bool operator==(const StepPasses&, const StepPasses&) = default;
};

// The parts of a step.
enum class StepCause {
  kMatmul,
  kExperts,
  kAttention,
  kMemoryPass,
  kTensorExchange,
  kContextExchange,
  kExpertExchange,
  kShardExchange,
  kHost,
  kPipelineExchange,
  kPipelineBubble,
  kDataExchange,
  kOptimizer,
  kScale,
  kHostCopy,
  kHostOptimizer,
};
inline constexpr size_t kStepCauseCount = 16;

// "matmul", "tensor_exchange", ...
absl::string_view StepCauseName(StepCause cause);

// Rates that a step's time depends on.
enum class StepRate { kArithmetic, kMemoryBandwidth, kLink, kNetwork, kHost };
inline constexpr size_t kStepRateCount = 5;

// The rows of the accuracy report that a step is like: each has an interval of its own.
enum class StepClass {
  kWide,          // products in 16 bits or more
  kNarrow,        // in 8 bits or fewer
  kOpen,          // the request leaves recomputation, interleaving or the kernel open
  kExperts,       // a mixture of experts
  kUnknownStack,  // SoftwareStack::generic
};
inline constexpr size_t kStepClassCount = 5;

struct StepInput {
  const MemoryJob& job;
  SoftwareConstants software;  // under the layout of `job`
  const ExchangePricer& exchanges;
  absl::Span<const StageTime> stages = {};
  double send_bytes = 0;  // of a micro-batch, from one stage to the next, on one device
  StepClass step_class = StepClass::kWide;
};

struct StepSensitivity {
  StepRate rate = StepRate::kArithmetic;
  double saved_share = 0;  // of the step, where the rate is a tenth higher
};

struct StepEstimate {
  SecondsInterval seconds = {};
  std::array<double, kStepCauseCount> parts = {};  // seconds; they sum to seconds.expected
  double bubble_ratio = 0;    // of the pipeline's time, in which its busiest stage waits
  int64_t slowest_stage = 0;  // the first of those that work longest
  int64_t micro_batch_count = 1;
  int64_t simulated_passes = 0;  // of the pipeline
  // The most first; none where it saves nothing, or beyond kMaxSensitivityPasses.
  std::vector<StepSensitivity> sensitivities = {};

  double of(StepCause cause) const { return parts[static_cast<size_t>(cause)]; }
};

// One stage's micro-batch.
struct StageSeconds {
  std::array<double, kStepCauseCount> parts = {};  // seconds
  StepPasses layers = {};                          // with what host and shards add
  StepPasses outside = {};                         // the layers
  double head_gradient = 0;  // of `outside` on the last stage: the head's weight gradient

  double all() const { return layers.all() + outside.all(); }
};

// In the order of StepInput::stages.
using StageSecondsList = absl::InlinedVector<StageSeconds, 4>;

// Results reused by steps whose stages differ only in StageTime::state.
struct KnownStep {
  absl::optional<LinkSeconds> send = {};  // of a micro-batch, from one stage to the next
  StageSecondsList work = {};             // without shards and host; empty: not known
  // For a layout that divides no weights and offloads nothing: its passes exchange no state.
  StageSecondsList stages = {};  // empty: not known
  bool has_pipeline = false;
  StepEstimate pipeline = {};  // without what happens once a step
};

// The steps of CallWork that `found`, the step of `in`, took.
int64_t EstimateSteps(const StepInput& in, const StepEstimate& found);

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The step, without sensitivities.
//
//   stage      F + B + host + exchanges that nothing hides, of one micro-batch
//   pipeline   TimeOfPipeline() of all stages' chunks
//   step       (pipeline + data exchange that no pass hides + optimizer + broadcast + what state in
//              host memory adds)
//              x (1 + k log2(devices / 8))
StepEstimate EstimateStep(const StepInput& in);
// The same without the interval's ends, with what is known; fills in what is not. Where the work of
// its stages alone makes the step longer than `limit`, the pipeline is not timed, and
// `seconds.expected` is less than the step takes, and more than `limit`.
StepEstimate ExpectedStep(const StepInput& in, KnownStep& known, double limit = kNoLimit);

// Factors on the times that each rate decides; 1: as they are.
struct StepSlowness {
  std::array<double, kStepRateCount> of = {1, 1, 1, 1, 1};

  double at(StepRate rate) const { return of[static_cast<size_t>(rate)]; }
};

// The step where all times are `slowness` times as long.
Seconds StepSecondsWhere(const StepInput& in, const StepSlowness& slowness);

// The step where all times of `rate` are `slowness` times as long.
Seconds StepSecondsWhere(const StepInput& in, StepRate rate, double slowness);

// The most passes of a step's simulated pipeline that are run again for each rate.
inline constexpr int64_t kMaxSensitivityPasses = 100'000;

// Appends to `out` what each rate is worth. Evaluates the step once for each rate.
void AddSensitivities(const StepInput& in, StepEstimate& out);

// The interval around `out.seconds.expected`, whose parts are those of `in`.
SecondsInterval StepInterval(const StepInput& in, const StepEstimate& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STEP_TIME_H_
