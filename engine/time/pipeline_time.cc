// Chooses the cheapest method for a schedule and its chunks:
//   GPipe                two flow shops: a closed form
//   1F1B                 a closed form where the last stage never waits, or where all chunks but
//                        the ends are equal; else pipeline_rounds.h or Ticks
//   ZB-H1, ZB-H2         a closed form for even stages without sends; else pipeline_simulation.h
//   DualPipe             pipeline_simulation.h
// Closed forms take time linear in the chunks. The other methods run at most about
// kMaxPipelinePasses passes, however many micro-batches a step has; where that is not enough, the
// formula for even stages with the mean chunk approximates (kApproximation).
#include "engine/time/pipeline_time.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "engine/memory/schedule/in_flight.h"
#include "engine/time/pipeline_formula.h"
#include "engine/time/pipeline_rounds.h"
#include "engine/time/pipeline_simulation.h"

namespace sextant {
namespace {

// Ticks takes about 100 us for them.
constexpr int64_t kMaxPasses = 20'000;

// Passes in one direction: each chunk in turn runs as many micro-batches as there are stages.
struct Turns {
  int64_t chunk = 0;
  int64_t left = 0;  // of the chunk's turn
};

struct StageTicks {
  InterleavedTimes forward = {};  // end of the last forward pass
  InterleavedTimes end = {};      // of the last pass
  Turns forwards = {};
  Turns backwards = {};
};

// Runs every pass of interleaved 1F1B in an order in which each pass's input is known: tick by
// tick, and in a tick stage by stage. A pass ends at
//
//   max(end of the stage's previous pass, end of its input + send) + its own time
//
// so one number a stage is enough. Two send times share the loop, whose cost is mostly control
// flow. Time is linear in the passes, of which there are at most kMaxPasses; space in the stages.
class Ticks {
 public:
  Ticks(const PipelineInput& in, const InterleavedTimes& sends)
      : chunks_(in.chunks),
        sends_(sends),
        chunk_count_(in.layout.virtual_stage_count),
        passes_(in.pipeline.micro_batch_count * chunk_count_),
        stages_(static_cast<size_t>(in.layout.pipeline_parallel_size),
                StageTicks{.forwards = {0, in.layout.pipeline_parallel_size},
                           .backwards = {chunk_count_ - 1, in.layout.pipeline_parallel_size}}),
        warm_up_(2 * (stage_count() - 1) + (chunk_count_ - 1) * stage_count()) {}

  absl::optional<InterleavedTimes> Run() {
    if (2 * passes_ * stage_count() > kMaxPasses) return absl::nullopt;
    for (int64_t tick = 0; tick < passes_ + warm_up_; ++tick) RunTick(tick);
    return stages_.front().end;
  }

 private:
  int64_t stage_count() const { return static_cast<int64_t>(stages_.size()); }
  bool IsPass(int64_t index) const { return index >= 0 && index < passes_; }

  // end[i] = max(end[i], after[i] + sends[i]).
  void Arrive(const InterleavedTimes& after, InterleavedTimes& end) const {
    for (size_t i = 0; i < end.size(); ++i) end[i] = std::max(end[i], after[i] + sends_[i]);
  }
  static void Add(double seconds, InterleavedTimes& end) {
    for (double& each : end) each += seconds;
  }

  const ChunkTime& Take(int64_t stage, int64_t step, Turns& turns) const {
    const ChunkTime& out = chunks_[static_cast<size_t>(stage * chunk_count_ + turns.chunk)];
    if (--turns.left > 0) return out;
    turns.left = stage_count();
    turns.chunk += step;
    if (turns.chunk == chunk_count_) turns.chunk = 0;
    if (turns.chunk < 0) turns.chunk = chunk_count_ - 1;
    return out;
  }

  void RunTick(int64_t tick) {
    InterleavedTimes forward = stages_.back().forward;  // of the previous tick
    const InterleavedTimes first_end = stages_.front().end;
    for (int64_t i = 0; i < stage_count(); ++i) {
      StageTicks& stage = stages_[static_cast<size_t>(i)];
      const InterleavedTimes own = stage.forward;
      if (IsPass(tick - i)) {
        if (i > 0 || stage.forwards.chunk > 0) Arrive(forward, stage.end);
        Add(Take(i, 1, stage.forwards).forward.value(), stage.end);
        stage.forward = stage.end;
      }
      if (IsPass(tick - warm_up_ + i)) {
        const bool last = i + 1 == stage_count();
        const InterleavedTimes& after = last ? first_end : stages_[static_cast<size_t>(i + 1)].end;
        const bool waits = !last || stage.backwards.chunk + 1 < chunk_count_;
        if (waits) Arrive(after, stage.end);
        const ChunkTime& time = Take(i, -1, stage.backwards);
        Add(time.input_gradient.value() + time.weight_gradient.value(), stage.end);
      }
      forward = own;
    }
  }

  const absl::Span<const ChunkTime> chunks_;
  const InterleavedTimes sends_;
  const int64_t chunk_count_;
  const int64_t passes_;  // of a stage, in each direction
  absl::InlinedVector<StageTicks, 16> stages_;
  const int64_t warm_up_;
};

struct Outcome {
  double total = 0;
  double longest_stage = 0;
  PipelineMethod method = PipelineMethod::kFormula;
};

// One micro-batch on one chunk of a stage, in seconds: F, B and W of arXiv 2401.10241.
struct Passes {
  double forward = 0;
  double input = 0;
  double weight = 0;
  double backward() const { return input + weight; }
  Passes Least(const Passes& o) const {
    return backward() < o.backward() ? Passes{std::min(forward, o.forward), input, weight}
                                     : Passes{std::min(forward, o.forward), o.input, o.weight};
  }
  double Sum() const { return forward + input + weight; }

  friend bool operator==(const Passes&, const Passes&) = default;
};

class Pipeline {
 public:
  explicit Pipeline(const PipelineInput& in)
      : in_(in),
        stages_(in.layout.pipeline_parallel_size),
        count_(in.pipeline.micro_batch_count),
        chunks_(InFlight(in.pipeline, in.layout).chunk_count()) {}

  double LongestWork() const {
    // A micro-batch passes through one of the two chunks under DualPipe, half of them each.
    const double times = static_cast<double>(count_) * (TwoEnds() ? 0.5 : 1);
    double longest = 0;
    for (int64_t stage = 0; stage < stages_; ++stage) {
      longest = std::max(longest, WorkOf(stage) * times);
    }
    return longest;
  }

  // All runs' passes.
  int64_t passes() const { return passes_ + orders_.passes; }

  Outcome Run(double send) {
    if (stages_ == 1) send = 0;
    if (in_.pipeline.schedule == PipelineSchedule::kGPipe) return GPipe(send);
    if (in_.pipeline.schedule == PipelineSchedule::kOneForwardOneBackward) {
      if (const auto total = LastStageDecides(send)) return {*total, *total};
    }
    if (HasFormula(send)) return Formula(PassesOf(0), LongestWork(), send);
    if (absl::optional<Outcome> simulated = Simulated(send)) return *simulated;
    Outcome out = Formula(MeanPasses(), LongestWork(), send);
    out.method = PipelineMethod::kApproximation;
    return out;
  }

 private:
  bool TwoEnds() const { return in_.pipeline.schedule == PipelineSchedule::kDualPipe; }

  Passes PassesOf(int64_t index) const {
    const ChunkTime& time = in_.chunks[static_cast<size_t>(index)];
    return {time.forward.value(), time.input_gradient.value(), time.weight_gradient.value()};
  }

  // One micro-batch on all chunks of a stage.
  double WorkOf(int64_t stage) const {
    double sum = 0;
    for (int64_t c = 0; c < chunks_; ++c) sum += PassesOf(stage * chunks_ + c).Sum();
    return sum;
  }

  Passes MeanPasses() const {
    Passes sum;
    const double share = 1 / static_cast<double>(stages_ * chunks_);
    for (int64_t i = 0; i < stages_ * chunks_; ++i) {
      const Passes passes = PassesOf(i);
      sum.forward += passes.forward * share;
      sum.input += passes.input * share;
      sum.weight += passes.weight * share;
    }
    return sum;
  }

  bool Even() const {
    const ChunkTime& first = in_.chunks[0];
    return std::all_of(in_.chunks.begin(), in_.chunks.end(), [&](const ChunkTime& time) {
      return time.forward == first.forward && time.input_gradient == first.input_gradient &&
             time.weight_gradient == first.weight_gradient;
    });
  }

  // Where Formula() is exact.
  bool HasFormula(double send) const {
    if (stages_ == 1 && chunks_ == 1) return true;
    switch (in_.pipeline.schedule) {
      case PipelineSchedule::kZeroBubbleH1:
        return send == 0 && count_ >= stages_ && Even();
      case PipelineSchedule::kZeroBubbleH2:
        return send == 0 && count_ >= 2 * stages_ && Even();
      case PipelineSchedule::kOneForwardOneBackward:
      case PipelineSchedule::kGPipe:
      case PipelineSchedule::kDualPipe:
        return false;
    }
    return false;
  }

  // 1F1B whose last stage takes at least as long as every other one, forward and backward, as one
  // with the output head does: it never waits once its first input has arrived. Absent where it
  // doesn't, or where sends are so long that they decide.
  absl::optional<double> LastStageDecides(double send) const {
    if (const auto even = AsEven(); even.has_value()) return EvenPipelineSeconds(*even, send);
    if (chunks_ > 1) return absl::nullopt;
    const Passes last = PassesOf(stages_ - 1);
    double way = 2 * static_cast<double>(stages_ - 1) * send;
    for (int64_t i = 0; i + 1 < stages_; ++i) {
      const Passes passes = PassesOf(i);
      if (passes.forward > last.forward || passes.backward() > last.backward() ||
          passes.Sum() + 2 * send > last.Sum()) {
        return absl::nullopt;
      }
      way += passes.Sum();
    }
    return way + static_cast<double>(count_) * last.Sum();
  }

  // Absent where other chunks than the first and the last differ.
  absl::optional<EvenPipeline> AsEven() const {
    const int64_t end = stages_ * chunks_;
    Passes body = PassesOf(end > 2 ? 1 : 0);
    if (end == 2) body = body.Least(PassesOf(1));
    for (int64_t i = 1; i + 1 < end; ++i) {
      if (PassesOf(i) != body) return absl::nullopt;
    }
    const auto beyond = [&body](const Passes& passes) {
      return PassPair{passes.forward - body.forward, passes.backward() - body.backward()};
    };
    return EvenPipeline{.stage_count = stages_,
                        .chunk_count = chunks_,
                        .micro_batch_count = count_,
                        .chunk = {body.forward, body.backward()},
                        .first = beyond(PassesOf(0)),
                        .last = end == 1 ? PassPair() : beyond(PassesOf(end - 1))};
  }

  // Each half is a line of machines that all do the same: a micro-batch's way through all of them,
  // and the longest pass once for each other micro-batch. The last stage ends all forward passes
  // last, and begins the backward ones. Even stages: (m + p - 1) (F + B + W), Huang et al. 2019,
  // arXiv 1811.06965, section 2.3.
  Outcome GPipe(double send) const {
    double way = 2 * static_cast<double>(stages_ - 1) * send;
    double forward = 0;
    double backward = 0;
    for (int64_t i = 0; i < stages_; ++i) {
      const Passes passes = PassesOf(i);
      way += passes.Sum();
      forward = std::max(forward, passes.forward);
      backward = std::max(backward, passes.input + passes.weight);
    }
    const double total = way + static_cast<double>(count_ - 1) * (forward + backward);
    return {.total = total, .longest_stage = total};
  }

  // Also keeps the time without sends, which TimeOfPipeline() asks for next.
  absl::optional<double> Interleaved(double send) {
    if (send == 0 && without_sends_.has_value()) return without_sends_;
    const absl::optional<InterleavedTimes> times = InterleavedSeconds(in_, {send, 0});
    if (!times.has_value()) return absl::nullopt;
    passes_ += 2 * count_ * chunks_ * stages_;
    without_sends_ = (*times)[1];
    return (*times)[0];
  }

  absl::optional<Outcome> Simulated(double send) {
    if (in_.pipeline.schedule == PipelineSchedule::kOneForwardOneBackward) {
      const absl::optional<double> total =
          chunks_ == 1 ? OneForwardOneBackwardSeconds(in_, send, passes_) : Interleaved(send);
      if (total.has_value()) return Outcome{*total, *total, PipelineMethod::kSimulation};
      if (chunks_ == 1) return absl::nullopt;
    }
    const absl::optional<SimulatedSeconds> out = SimulatePipeline(in_, send, orders_);
    if (!out.has_value()) return absl::nullopt;
    return Outcome{out->total, out->longest_stage, PipelineMethod::kSimulation};
  }

  // Bubble of p even stages, by schedule:
  //   1F1B          (p - 1) (F + B + W), the same of shorter passes where stages are interleaved:
  //                 Narayanan et al. 2021, arXiv 2104.04473, section 2.2
  //   ZB-H1, ZB-H2  (p - 1) (F + B - W) and (p - 1) (F + B - 2 W): Qi et al. 2023, arXiv
  //                 2401.10241, section 2.3, where W is short. A longer W hides no more than there
  //                 is; the rest follows from the orders, and was compared with running them.
  //   DualPipe      (p/2 - 1) (F&B + B - 3 W), B both halves there, F&B = F + B:
  //                 DeepSeek-V3, arXiv 2412.19437, table 2. Exact where F = B = W.
  Outcome Formula(const Passes& t, double work, double send) const {
    const double others = static_cast<double>(stages_ - 1);
    const double way = 2 * static_cast<double>(stages_ * chunks_ - 1) * send;
    switch (in_.pipeline.schedule) {
      case PipelineSchedule::kZeroBubbleH1: {
        const double bubble = std::max(t.input, t.forward + t.input - t.weight);
        const double total = std::max(bubble, t.forward);
        return {work + others * total + way, work + others * bubble + way};
      }
      case PipelineSchedule::kZeroBubbleH2: {
        const double bubble =
            std::max({0.0, t.input - t.forward, t.forward + t.input - 2 * t.weight});
        const double total = std::max(bubble, t.forward);
        return {work + others * total + way, work + others * bubble + way};
      }
      case PipelineSchedule::kDualPipe: {
        const int64_t pairs_of_stages = stages_ / 2;
        const double pairs = static_cast<double>(pairs_of_stages - 1);
        const double total =
            work + pairs * std::max(0.0, t.Sum() + t.input - 2 * t.weight) + way / 2;
        return {total, total};
      }
      case PipelineSchedule::kOneForwardOneBackward:
      case PipelineSchedule::kGPipe:
        break;
    }
    const double total = work + others * t.Sum() + (chunks_ == 1 ? EvenSends() * send : way);
    return {total, total};
  }

  // Sends that follow on each other in 1F1B with even stages. A stage that has sent waits for what
  // comes back: of the m + p - 1 passes forward and backward that the step is long, every p in turn
  // are one micro-batch's way through all stages and back, and the rest one through as many stages
  // as it has time for.
  double EvenSends() const {
    const int64_t passes = count_ + stages_ - 1;
    const int64_t sends =
        (stages_ - 1) * (passes / stages_) + std::max<int64_t>(passes % stages_ - 1, 0);
    return 2 * static_cast<double>(sends);
  }

  const PipelineInput& in_;
  const int64_t stages_;
  const int64_t count_;
  const int64_t chunks_;
  PipelineOrders orders_;
  int64_t passes_ = 0;                         // without those of orders_
  absl::optional<double> without_sends_ = {};  // of interleaved stages; absent: not computed
};

}  // namespace

absl::optional<InterleavedTimes> InterleavedSeconds(const PipelineInput& in,
                                                    const InterleavedTimes& sends) {
  return Ticks(in, sends).Run();
}

PipelineTime TimeOfPipeline(const PipelineInput& in) {
  Pipeline pipeline(in);
  const Outcome outcome = pipeline.Run(in.send.value());
  PipelineTime out = {.total = Seconds(outcome.total),
                      .longest_stage = Seconds(outcome.longest_stage),
                      .work = Seconds(pipeline.LongestWork()),
                      .sends = Seconds(0),
                      .method = outcome.method};
  if (in.send > Seconds(0) && in.layout.pipeline_parallel_size > 1) {
    out.sends = out.total - Seconds(pipeline.Run(0).total);
  }
  out.passes = pipeline.passes();
  return out;
}

}  // namespace sextant
