// Predicts a step from the seconds of its stages, of which identical ones stand for each other:
//   1. a stage's micro-batch: kernels, the exposed part of each exchange, and the time that the
//      device waits for its host (WorkOf(), AddShards(), AddHost());
//   2. the pipeline of all stages (AddPipeline()): the slowest stage sets the parts, and the rest
//      of the pipeline's time is sends and bubble;
//   3. once a step: exchange of gradients that no pass hides, optimizer, offload (AddOnceAStep());
//   4. growth with the logarithm of the devices (AddScale()).
// Time is linear in the stages that differ, apart from PipelineOf(). A search passes a KnownStep,
// which keeps WorkOf() and, if no pass exchanges state, all of steps 1 and 2.
#include "engine/time/step_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "engine/memory/state/state_rules.h"
#include "engine/time/stage_compute.h"
#include "engine/time/step_pipeline.h"

namespace sextant {
namespace {

using Constant = StackConstant;
using Parts = std::array<double, kStepCauseCount>;

constexpr double kFasterBy = 1.1;
constexpr double kRounding = 1e-9;  // far more than sums are rounded by
constexpr double kServerDevices = 8;
constexpr double kBackwardShare = 2.0 / 3;
// Steps of CallWork to add up a stage: 0.15 us.
constexpr int64_t kStepsAKind = 15;
// Likewise to simulate a pass: 20 ns.
constexpr int64_t kStepsAPass = 2;

double& At(Parts& parts, StepCause cause) { return parts[static_cast<size_t>(cause)]; }

// StepSlowness that sums up exchanges.
struct Slowness : StepSlowness {
  double operator()(const LinkSeconds& links) const {
    return links.within * at(StepRate::kLink) + links.across * at(StepRate::kNetwork);
  }
};

// A step at one slowness of each rate.
class Step {
 public:
  Step(const StepInput& in, const Slowness& slow, KnownStep& known)
      : in_(in),
        slow_(slow),
        known_(known),
        shares_(!DividesParameters(in.job.state.sharding) &&
                !in.job.state.sharding.offload_optimizer),
        kinds_(shares_ ? known.stages : own_kinds_) {}

  StepEstimate Estimate(double limit) {
    if (known_.work.empty()) {
      for (const StageTime& stage : in_.stages) known_.work.push_back(WorkOf(stage));
    }
    if (kinds_.empty()) FillStages();
    if (shares_ && known_.has_pipeline) {
      out_ = known_.pipeline;
    } else {
      AddSlowest();
      out_.seconds.expected = Seconds(LeastSeconds());
      if (out_.seconds.expected > Seconds(limit)) return std::move(out_);
      AddPipeline();
      if (shares_) {
        known_.pipeline = out_;
        known_.has_pipeline = true;
      }
    }
    AddOnceAStep();
    AddScale();
    double sum = 0;
    for (const double part : out_.parts) sum += part;
    out_.seconds.expected = Seconds(sum);
    out_.micro_batch_count = in_.job.pipeline.micro_batch_count;
    return std::move(out_);
  }

 private:
  double constant(Constant constant) const { return in_.software.of(constant); }
  double& part(StepCause cause) { return At(out_.parts, cause); }

  void FillStages() {
    kinds_ = known_.work;
    for (size_t i = 0; i < kinds_.size(); ++i) {
      AddShards(in_.stages[i], kinds_[i]);
      AddHost(in_.stages[i], kinds_[i]);
    }
    SeparateEnds();
  }

  // Moves the excess time of the first and the last stage for the same layers (host and shards of
  // embedding and head) from their layers to `outside`.
  void SeparateEnds() {
    if (kinds_.size() < 2) return;
    const size_t inner = kinds_.size() > 2 ? 1 : 0;
    StepPasses body = kinds_[inner].layers;
    if (kinds_.size() == 2) body = body.Least(kinds_[1].layers);
    for (StageSeconds* const end : {&kinds_.front(), &kinds_.back()}) {
      const auto index = static_cast<size_t>(end - kinds_.data());
      if (in_.stages[index].state.layer_count != in_.stages[inner].state.layer_count) continue;
      const StepPasses beyond = end->layers.Less(body);
      if (std::min({beyond.forward, beyond.input_gradient, beyond.weight_gradient}) < 0) continue;
      end->outside = end->outside.Plus(beyond);
      end->layers = body;
    }
  }

  // Exchanges of tensor parallel ranks and of experts add the stack's share of their time, rings
  // what attention does not hide, exchanges of heads all: attention waits for them.
  double AddPass(const PassSeconds& pass, StageSeconds& out) const {
    const double arithmetic = slow_.at(StepRate::kArithmetic);
    const double attention = pass.of(KernelKind::kAttention) * arithmetic;
    const double hidden = ExchangesHeads(in_.job.batch) ? 0 : attention;
    const std::array<std::pair<StepCause, double>, 7> added = {
        {{StepCause::kMatmul, pass.of(KernelKind::kMatmul) * arithmetic},
         {StepCause::kExperts, pass.of(KernelKind::kGroupedMatmul) * arithmetic},
         {StepCause::kAttention, attention},
         {StepCause::kMemoryPass,
          pass.of(KernelKind::kMemoryPass) * slow_.at(StepRate::kMemoryBandwidth)},
         {StepCause::kTensorExchange,
          slow_(pass.tensor) * constant(Constant::kTensorExchangeExposure)},
         {StepCause::kContextExchange, std::max(0.0, slow_(pass.context) - hidden)},
         {StepCause::kExpertExchange,
          slow_(pass.expert) * constant(Constant::kExpertExchangeExposure)}}};
    double sum = 0;
    for (const auto& [cause, seconds] : added) {
      At(out.parts, cause) += seconds;
      sum += seconds;
    }
    return sum;
  }

  // A hidden exchange of shards still slows the passes that hide it.
  double Exposed(double exchange, double passes) const {
    return std::max(0.0, exchange - passes) +
           constant(Constant::kOverlapContention) * std::min(exchange, passes);
  }

  StageSeconds WorkOf(const StageTime& stage) const {
    StageSeconds out;
    out.layers = AddPasses(stage.layers, out);
    out.outside = AddPasses(stage.outside, out);
    out.head_gradient = out.outside.weight_gradient;
    AddExpertHost(stage, out);
    return out;
  }

  StepPasses AddPasses(const WorkSeconds& work, StageSeconds& out) const {
    return {.forward = AddPass(work.forward, out),
            .input_gradient = AddPass(work.input_gradient, out),
            .weight_gradient = AddPass(work.weight_gradient, out)};
  }

  struct Reduction {
    double hidden = 0;
    double exposed = 0;
  };
  // Gradients that all micro-batches but the last reduce, a micro-batch of the step.
  Reduction EarlyReduction(const StageTime& stage, double backward_passes) const {
    const double reduce = slow_(stage.state.early_reduce);
    const double hidden =
        constant(Constant::kDataExchangeOverlap) * std::min(reduce, backward_passes);
    const auto count = static_cast<double>(in_.job.pipeline.micro_batch_count);
    const double share = (count - 1) / count;
    return {.hidden = hidden * share, .exposed = (reduce - hidden) * share};
  }

  void AddShards(const StageTime& stage, StageSeconds& out) const {
    const StateSharding& sharding = in_.job.state.sharding;
    const double gather = slow_(stage.state.gather);
    const auto count = static_cast<double>(in_.job.pipeline.micro_batch_count);
    const double reduce =
        slow_(stage.state.reduce) / (in_.job.buffers.deferred_reduction ? count : 1);
    const double passes = out.layers.forward + out.outside.forward;
    const double forward = Exposed(gather, passes);
    const double again = sharding.reshard_after_forward ? slow_(stage.state.gather_again) : 0;
    const double backward_passes = out.all() - passes;
    const double backward = Exposed(again + reduce, backward_passes);
    const Reduction early = EarlyReduction(stage, backward_passes);
    At(out.parts, StepCause::kShardExchange) += forward + backward;
    At(out.parts, StepCause::kDataExchange) += early.exposed;
    out.layers.forward += forward;
    out.layers.input_gradient += backward + early.exposed;
    if (!sharding.offload_optimizer) return;
    const OffloadExposed offload = ExposedOf(stage.state.offload, in_.job,
                                             {.forward = passes,
                                              .backward = backward_passes,
                                              .forward_exchange = gather,
                                              .backward_exchange = again + reduce + early.hidden,
                                              .gathers_again = sharding.reshard_after_forward},
                                             slow_.at(StepRate::kHost));
    At(out.parts, StepCause::kHostCopy) += offload.copies();
    At(out.parts, StepCause::kHostOptimizer) += offload.addition;
    out.layers.forward += offload.forward;
    out.layers.input_gradient += offload.backward + offload.addition;
  }

  // Where the host's least time of a pass of layers with experts is longer than the device's, the
  // device waits; exchanges in that time are hidden.
  void AddExpertHost(const StageTime& stage, StageSeconds& out) const {
    if (stage.launches() == 0 || stage.state.expert_layers == 0) return;
    const double least = static_cast<double>(stage.state.expert_layers) *
                         constant(Constant::kExpertLayerHostSeconds) * slow_.at(StepRate::kHost);
    StageSeconds experts;
    const StepPasses device = AddPasses(stage.expert_layers, experts);
    AddHostTime(std::max(0.0, least * (1 - kBackwardShare) - device.forward),
                std::max(0.0, least * kBackwardShare - device.backward()), out);
  }

  // The host adds its time for each layer; where its time to start all kernels is longer than the
  // device's, the device waits.
  void AddHost(const StageTime& stage, StageSeconds& out) const {
    const double host = slow_.at(StepRate::kHost);
    const double launches =
        static_cast<double>(stage.launches()) * constant(Constant::kKernelLaunchSeconds);
    const double layers =
        static_cast<double>(stage.state.layer_count) * constant(Constant::kHostSecondsPerLayer);
    const double added = std::max(0.0, launches * host - out.all()) + layers * host;
    AddHostTime(added * (1 - kBackwardShare), added * kBackwardShare, out);
  }

  static void AddHostTime(double forward, double backward, StageSeconds& out) {
    At(out.parts, StepCause::kHost) += forward + backward;
    out.layers.forward += forward;
    out.layers.input_gradient += backward;
  }

  size_t OppositeOf(size_t kind) const { return sextant::OppositeOf(in_, kind); }

  // Source: docs/step_time.md, "Pipelines".
  void AddPipeline() {
    const StepPipelineSeconds time = PipelineOf(in_, kinds_, SendSeconds());
    out_.simulated_passes = time.passes;
    const bool alone = in_.job.layout.pipeline_parallel_size == 1;
    const double waits = alone ? 0 : std::max(0.0, time.total - PartsSum());
    part(StepCause::kPipelineExchange) = std::min(waits, time.sends);
    part(StepCause::kPipelineBubble) = waits - part(StepCause::kPipelineExchange);
    if (time.total > 0) out_.bubble_ratio = part(StepCause::kPipelineBubble) / time.total;
  }

  // No step of these stages is shorter: without what happens once a step, and with as much of the
  // pipeline's waits as is known at once. Follows AddSlowest().
  double LeastSeconds() const {
    const double pipeline = std::max(PartsSum(), LeastPipelineOf(in_, kinds_));
    const double growth = constant(Constant::kGrowthPerDoubling) * Doublings();
    return pipeline * (1 + growth) * (1 - kRounding);
  }

  double PartsSum() const {
    double sum = 0;
    for (const double part : out_.parts) sum += part;
    return sum;
  }

  // The stage that works longest sets the parts. Where micro-batches enter at both ends, half of
  // them meet the opposite stage's layers.
  void AddSlowest() {
    const auto work = [this](size_t i) { return kinds_[i].all() + kinds_[OppositeOf(i)].all(); };
    size_t slowest = 0;
    for (size_t i = 1; i < kinds_.size(); ++i) {
      if (work(i) > work(slowest)) slowest = i;
    }
    out_.slowest_stage = in_.stages[slowest].first_stage;
    const double half = static_cast<double>(in_.job.pipeline.micro_batch_count) / 2;
    const Parts& opposite = kinds_[OppositeOf(slowest)].parts;
    for (size_t i = 0; i < kStepCauseCount; ++i) {
      out_.parts[i] = (kinds_[slowest].parts[i] + opposite[i]) * half;
    }
  }

  // The output of a stage's layers, whose parts go to the ranks that hold them.
  double SendSeconds() const {
    const ParallelLayout& layout = in_.job.layout;
    if (layout.pipeline_parallel_size == 1) return 0;
    if (!known_.send.has_value()) known_.send.emplace().Add(in_.exchanges.Send(in_.send_bytes));
    const bool interleaved = layout.virtual_stage_count > 1;
    return slow_(*known_.send) * (interleaved ? constant(Constant::kPipelineExchangeExposure) : 1);
  }

  // Exchanges of data parallel ranks are hidden by the passes of the micro-batches that are in
  // flight, as far as the stack overlaps them. The stage that adds the most counts. Devices that
  // hold two stages' layers exchange and update both.
  void AddOnceAStep() {
    const auto in_flight = static_cast<double>(std::min<int64_t>(
        in_.job.pipeline.micro_batch_count, in_.job.layout.pipeline_parallel_size));
    double exchange = 0;
    double optimizer = 0;
    OffloadSeconds offload;
    for (size_t i = 0; i < kinds_.size(); ++i) {
      double all = slow_(in_.stages[i].state.data);
      double update = in_.stages[i].state.optimizer;
      OffloadSeconds away = in_.stages[i].state.offload;
      if (in_.job.pipeline.schedule == PipelineSchedule::kDualPipe) {
        const StateSeconds& other = in_.stages[OppositeOf(i)].state;
        all += slow_(other.data);
        update += other.optimizer;
        away.copies += other.offload.copies;
        away.update += other.offload.update;
      }
      const double hidden =
          constant(Constant::kDataExchangeOverlap) * std::min(all, kinds_[i].all() * in_flight);
      exchange = std::max(exchange, all - hidden);
      optimizer = std::max(optimizer, update);
      if (away.copies + away.update > offload.copies + offload.update) offload = away;
    }
    part(StepCause::kDataExchange) +=
        exchange + constant(Constant::kBroadcastSecondsPerRank) *
                       static_cast<double>(in_.exchanges.ranks().shard.size - 1) *
                       (DividesOptimizer(in_.job.state.sharding) ? 1 : 0) *
                       slow_.at(StepRate::kNetwork);
    part(StepCause::kOptimizer) = optimizer * slow_.at(StepRate::kMemoryBandwidth);
    part(StepCause::kHostCopy) += offload.copies * slow_.at(StepRate::kHost);
    part(StepCause::kHostOptimizer) += offload.update * slow_.at(StepRate::kHost);
  }

  // The devices' doublings beyond a server's.
  double Doublings() const {
    const RankStride& stages = in_.exchanges.ranks().pipeline;
    const auto devices = static_cast<double>(stages.size * stages.stride);
    return std::max(0.0, std::log2(devices / kServerDevices));
  }

  void AddScale() {
    part(StepCause::kScale) = PartsSum() * constant(Constant::kGrowthPerDoubling) * Doublings();
  }

  const StepInput& in_;
  const Slowness slow_;
  KnownStep& known_;
  const bool shares_;  // KnownStep::stages
  StageSecondsList own_kinds_;
  StageSecondsList& kinds_;
  StepEstimate out_;
};

}  // namespace

int64_t EstimateSteps(const StepInput& in, const StepEstimate& found) {
  const StageTime& last = in.stages.back();
  const int64_t chunks = (last.first_stage + last.stage_count) * in.job.layout.virtual_stage_count;
  return kStepsAKind * static_cast<int64_t>(in.stages.size()) + chunks +
         kStepsAPass * found.simulated_passes;
}

StepEstimate EstimateStep(const StepInput& in) {
  KnownStep known;
  StepEstimate out = ExpectedStep(in, known);
  out.seconds = StepInterval(in, out);
  return out;
}

StepEstimate ExpectedStep(const StepInput& in, KnownStep& known, double limit) {
  return Step(in, {}, known).Estimate(limit);
}

Seconds StepSecondsWhere(const StepInput& in, const StepSlowness& slowness) {
  KnownStep known;
  return Step(in, {slowness}, known).Estimate(kNoLimit).seconds.expected;
}

Seconds StepSecondsWhere(const StepInput& in, StepRate rate, double slowness) {
  StepSlowness slow;
  slow.of[static_cast<size_t>(rate)] = slowness;
  return StepSecondsWhere(in, slow);
}

void AddSensitivities(const StepInput& in, StepEstimate& out) {
  if (out.simulated_passes > kMaxSensitivityPasses) return;
  for (size_t i = 0; i < kStepRateCount; ++i) {
    const auto rate = static_cast<StepRate>(i);
    const Seconds faster = StepSecondsWhere(in, rate, 1 / kFasterBy);
    const double saved = 1 - faster.value() / out.seconds.expected.value();
    if (saved > 0) out.sensitivities.push_back({rate, saved});
  }
  std::stable_sort(out.sensitivities.begin(), out.sensitivities.end(),
                   [](const auto& a, const auto& b) { return a.saved_share > b.saved_share; });
}

}  // namespace sextant
