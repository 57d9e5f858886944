// Runs each stage's passes in its order, a pass as soon as the stage is free and its input is
// there. A stage runs until an input is missing; the pass that makes the input queues the stage
// again. Starts depend on earlier ends alone, so the order of the queue does not matter, and a pass
// takes constant time.
//
// Long steps are not run in full. Run() runs the first micro-batches, then Skip() looks for a
// period: q micro-batches, each of whose passes came a constant later than its counterpart, twice
// in a row. Times() bounds how often the period repeats before a stage waits for another input than
// before, and Jump() adds that many periods at once. At most 2 kMaxPipelinePasses passes run.
#include "engine/time/pipeline_simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "engine/base/checked_math.h"

namespace sextant {
namespace {

constexpr size_t kWorkCount = 4;      // ScheduleWork
constexpr double kTolerance = 1e-12;  // of the time so far: far above what rounding does

struct PassTime {
  double start = 0;
  double end = 0;
};

struct Stage {
  absl::Span<const WorkItem> order;
  std::vector<PassTime> passes;  // that ran, in their order
  size_t limit = 0;              // of passes to run until the next jump
  size_t valid_from = 0;         // passes before it are from before the latest jump
  double start = 0;
  bool queued = false;

  double End() const { return passes.empty() ? 0 : passes.back().end; }
};

// A pass of one kind on one chunk.
struct Route {
  static constexpr size_t kNone = static_cast<size_t>(-1);

  double seconds = 0;
  size_t result = kNone;    // where its ends are kept; kNone: nothing waits for them
  size_t input = kNone;     // where the ends are that it waits for
  size_t receiver = kNone;  // the stage that waits for its result
};

// How far apart in the orders passes are that repeat.
struct Period {
  int64_t micro_batches = 0;
  size_t passes = 0;  // of a stage
  int64_t index = 0;  // of micro-batches that enter at one end
};

class Simulation {
 public:
  Simulation(const PipelineInput& in, double send, PipelineOrders& orders)
      : in_(in),
        orders_(orders),
        two_ends_(in.pipeline.schedule == PipelineSchedule::kDualPipe),
        stage_count_(in.layout.pipeline_parallel_size),
        chunk_count_(two_ends_ ? 2 : in.layout.virtual_stage_count),
        send_(stage_count_ > 1 ? send : 0),
        stages_(static_cast<size_t>(stage_count_)),
        routes_(kWorkCount * in.chunks.size()),
        ended_(2 * in.chunks.size()) {
    for (int64_t stage = 0; stage < stage_count_; ++stage) {
      for (int64_t chunk = 0; chunk < chunk_count_; ++chunk) SetRoutes({stage, chunk});
    }
  }

  absl::optional<SimulatedSeconds> Run() {
    int64_t count = std::min(in_.pipeline.micro_batch_count, FirstCount());
    int64_t left = in_.pipeline.micro_batch_count - count;
    while (left > 0) {
      if (PassesOf(count) * stage_count_ > kMaxPipelinePasses) return absl::nullopt;
      SetOrders(count);
      for (int64_t i = 0; i < stage_count_; ++i) SetLimit(i);
      RunPasses();
      left -= Skip(left);
      const int64_t more = std::min(left, CeilDivide(count, 2 * Unit()) * Unit());
      count += more;
      left -= more;
    }
    if (PassesOf(count) * stage_count_ > 2 * kMaxPipelinePasses) return absl::nullopt;
    SetOrders(count);
    RunPasses();
    return Result();
  }

 private:
  // Micro-batches come in multiples of it.
  int64_t Unit() const { return two_ends_ ? 2 : chunk_count_ > 1 ? stage_count_ : 1; }
  // Passes of a stage.
  int64_t PassesOf(int64_t count) const {
    const int64_t parts = two_ends_ || chunk_count_ > 1 ? 2 : 3;
    return parts * count * (two_ends_ ? 1 : chunk_count_);
  }
  // No stage has more micro-batches in flight: docs/memory_schedules.md.
  int64_t MostInFlight() const {
    if (in_.pipeline.schedule == PipelineSchedule::kZeroBubbleH2) return 2 * stage_count_;
    if (two_ends_) return stage_count_ + 2;
    if (chunk_count_ == 1) return stage_count_;
    return stage_count_ + CeilDivide(stage_count_, chunk_count_);
  }
  // Enough to fill the pipeline, to settle and to repeat twice, and what the end takes.
  int64_t FirstCount() const {
    return CeilDivide(4 * MostInFlight() + 2 * Unit(), Unit()) * Unit();
  }

  void SetOrders(int64_t count) {
    MakeOrders(count);
    ends_.resize(static_cast<size_t>(count) * ended_.size());
    for (size_t i = 0; i < stages_.size(); ++i) {
      Stage& stage = stages_[i];
      stage.order = orders_.stages[i];
      stage.passes.reserve(stage.order.size());
      stage.limit = stage.order.size();
    }
  }

  void MakeOrders(int64_t count) {
    if (count == orders_.micro_batch_count) return;
    PipelineSpec pipeline = in_.pipeline;
    pipeline.micro_batch_count = orders_.micro_batch_count = count;
    orders_.stages.resize(stages_.size());
    for (int64_t i = 0; i < stage_count_; ++i) {
      // Can't fail: kMaxPipelinePasses is less than kMaxOrderItems.
      orders_.stages[static_cast<size_t>(i)] = *OrderOfStage(pipeline, in_.layout, i);
    }
  }

  // To the passes that orders for more micro-batches begin with, too: up to the last forward pass;
  // under DualPipe, up to the last pair with a micro-batch from the nearer end.
  void SetLimit(int64_t index) {
    Stage& stage = stages_[static_cast<size_t>(index)];
    const int64_t near_chunk = 2 * index < stage_count_ ? 0 : 1;
    size_t last = stage.order.size() - 1;
    while (stage.order[last].work != ScheduleWork::kForward ||
           (two_ends_ && stage.order[last].chunk != near_chunk)) {
      --last;
    }
    stage.limit = last + (two_ends_ ? 2 : 1);
  }

  void RunPasses() {
    for (size_t i = 0; i < stages_.size(); ++i) Queue(i);
    while (!queue_.empty()) {
      const size_t stage = queue_.back();
      queue_.pop_back();
      stages_[stage].queued = false;
      while (Step(stage)) {
      }
    }
  }

  void Queue(size_t stage) {
    Stage& s = stages_[stage];
    if (s.queued || s.passes.size() == s.limit) return;
    s.queued = true;
    queue_.push_back(stage);
  }

  struct Place {
    int64_t stage = 0;
    int64_t chunk = 0;
  };
  size_t IndexOf(Place place) const {
    return static_cast<size_t>(place.stage * chunk_count_ + place.chunk);
  }

  // One chunk further along a micro-batch's way, or back; false beyond its ends.
  bool Move(bool further, Place& place) const {
    const bool up = two_ends_ && place.chunk == 1 ? !further : further;
    place.stage += up ? 1 : -1;
    if (place.stage >= 0 && place.stage < stage_count_) return true;
    if (two_ends_) return false;
    place.stage = up ? 0 : stage_count_ - 1;
    place.chunk += up ? 1 : -1;
    return place.chunk >= 0 && place.chunk < chunk_count_;
  }

  Route& RouteAt(ScheduleWork work, size_t index) {
    return routes_[index * kWorkCount + static_cast<size_t>(work)];
  }
  const Route& RouteOf(const WorkItem& item, size_t stage) const {
    const size_t index =
        stage * static_cast<size_t>(chunk_count_) + static_cast<size_t>(item.chunk);
    return routes_[index * kWorkCount + static_cast<size_t>(item.work)];
  }

  // The ends of forward passes are kept by chunk, then those of what makes an input's gradients.
  void SetRoutes(const Place& place) {
    const size_t index = IndexOf(place);
    const ChunkTime& time = in_.chunks[index];
    Place before = place;
    Place after = place;
    const bool has_before = Move(false, before);
    const bool has_after = Move(true, after);
    const size_t gradients = in_.chunks.size();
    const auto stage_of = [](const Place& to) { return static_cast<size_t>(to.stage); };
    Route& forward = RouteAt(ScheduleWork::kForward, index);
    forward = {.seconds = time.forward.value(), .result = index};
    Route& input = RouteAt(ScheduleWork::kInputGradient, index);
    input = {.seconds = time.input_gradient.value(), .result = gradients + index};
    if (has_before) {
      forward.input = IndexOf(before);
      input.receiver = stage_of(before);
    }
    if (has_after) {
      forward.receiver = stage_of(after);
      input.input = gradients + IndexOf(after);
    }
    Route& backward = RouteAt(ScheduleWork::kBackward, index);
    backward = input;
    backward.seconds += time.weight_gradient.value();
    RouteAt(ScheduleWork::kWeightGradient, index).seconds = time.weight_gradient.value();
  }

  // Where the end of a micro-batch's pass is kept.
  double& EndAt(size_t result, int64_t micro_batch) {
    return ends_[static_cast<size_t>(micro_batch) * ended_.size() + result];
  }
  double EndAt(size_t result, int64_t micro_batch) const {
    return ends_[static_cast<size_t>(micro_batch) * ended_.size() + result];
  }

  // Runs the stage's next pass, or pair of passes, if it can.
  bool Step(size_t index) {
    Stage& stage = stages_[index];
    const size_t first = stage.passes.size();
    if (first == stage.limit) return false;
    const size_t end = first + (stage.order[first].with_next ? 2 : 1);
    PassTime time = {.start = stage.End()};
    double duration = 0;
    for (size_t i = first; i < end; ++i) {
      const WorkItem& item = stage.order[i];
      const Route& route = RouteOf(item, index);
      duration += route.seconds;
      if (route.input == Route::kNone) continue;
      if (item.micro_batch >= ended_[route.input]) return false;
      time.start = std::max(time.start, EndAt(route.input, item.micro_batch) + send_);
    }
    if (first == 0) stage.start = time.start;
    time.end = time.start + duration;
    orders_.passes += static_cast<int64_t>(end - first);
    for (size_t i = first; i < end; ++i) {
      stage.passes.push_back(time);
      Send(stage.order[i], RouteOf(stage.order[i], index), time.end);
    }
    return true;
  }

  // Passes of a chunk end in the order of micro-batches.
  void Send(const WorkItem& item, const Route& route, double end) {
    if (route.result == Route::kNone) return;
    EndAt(route.result, item.micro_batch) = end;
    ended_[route.result] = item.micro_batch + 1;
    if (route.receiver != Route::kNone) Queue(route.receiver);
  }

  // Leaves out as many of `left` micro-batches as it can, and returns how many.
  int64_t Skip(int64_t left) {
    double now = 0;
    for (const Stage& stage : stages_) now = std::max(now, stage.End());
    tolerance_ = kTolerance * now;
    const int64_t longest = std::min(left, std::max(Unit(), MostInFlight()));
    for (int64_t q = Unit(); q <= longest; q += Unit()) {
      const Period period = {.micro_batches = q,
                             .passes = static_cast<size_t>(PassesOf(q)),
                             .index = two_ends_ ? q / 2 : q};
      if (!Repeats(period)) continue;
      const int64_t times = Times(period, left / q);
      if (times == 0) continue;
      Jump(period, times);
      return times * q;
    }
    return 0;
  }

  // Passes of a stage whose results another may still wait for.
  size_t Window() const { return static_cast<size_t>(PassesOf(MostInFlight())); }

  bool Repeats(const Period& period) const {
    const size_t q = period.passes;
    for (const Stage& stage : stages_) {
      const size_t count = stage.passes.size();
      if (count < stage.valid_from + Window() + 2 * q) return false;
      for (size_t i = count; i-- > count - Window() - q;) {
        const WorkItem& item = stage.order[i];
        const WorkItem& before = stage.order[i - q];
        if (item.work != before.work || item.chunk != before.chunk ||
            item.with_next != before.with_next ||
            item.micro_batch != before.micro_batch + period.index) {
          return false;
        }
        if (i < count - Window()) continue;
        const double change =
            stage.passes[i].end + stage.passes[i - 2 * q].end - 2 * stage.passes[i - q].end;
        if (std::abs(change) > tolerance_) return false;
      }
    }
    return true;
  }

  // The most times, up to `most`, that all passes wait for the same as before.
  int64_t Times(const Period& period, int64_t most) const {
    double times = static_cast<double>(most);
    const auto limit = [&](double slack, double added, double input_added) {
      if (input_added <= added + tolerance_) return;
      times = std::min(times, std::max(0.0, slack) / (input_added - added));
    };
    for (size_t s = 0; s < stages_.size(); ++s) {
      const Stage& stage = stages_[s];
      for (size_t i = stage.passes.size() - period.passes; i < stage.passes.size(); ++i) {
        const double start = stage.passes[i].start;
        const double added = start - stage.passes[i - period.passes].start;
        if (!stage.order[i - 1].with_next) {
          const double free = stage.passes[i - 1].end;
          limit(start - free, added, free - stage.passes[i - 1 - period.passes].end);
        }
        const size_t inputs = RouteOf(stage.order[i], s).input;
        if (inputs == Route::kNone) continue;
        const int64_t k = stage.order[i].micro_batch;
        const double input = EndAt(inputs, k);
        limit(start - (input + send_), added, input - EndAt(inputs, k - period.index));
      }
    }
    return static_cast<int64_t>(times);
  }

  void Jump(const Period& period, int64_t times) {
    const double n = static_cast<double>(times);
    double most = 0;  // what the fastest stage adds: left out of all, so that times stay small
    for (const Stage& stage : stages_) {
      most =
          std::max(most, stage.End() - stage.passes[stage.passes.size() - 1 - period.passes].end);
    }
    skipped_ += n * most;
    std::vector<double> shifts(period.passes);
    for (size_t s = 0; s < stages_.size(); ++s) {
      Stage& stage = stages_[s];
      const size_t count = stage.passes.size();
      for (size_t i = count - period.passes; i < count; ++i) {
        const double added = stage.passes[i].end - stage.passes[i - period.passes].end;
        shifts[i % period.passes] = n * (added - most);
      }
      stage.start -= n * most;
      stage.valid_from = count - Window();
      for (size_t i = stage.valid_from; i < count; ++i) {
        const double shift = shifts[i % period.passes];
        stage.passes[i].start += shift;
        stage.passes[i].end += shift;
        const size_t result = RouteOf(stage.order[i], s).result;
        if (result != Route::kNone) EndAt(result, stage.order[i].micro_batch) += shift;
      }
    }
  }

  SimulatedSeconds Result() const {
    SimulatedSeconds out;
    for (const Stage& stage : stages_) {
      out.total = std::max(out.total, stage.End() + skipped_);
      out.longest_stage = std::max(out.longest_stage, stage.End() - stage.start);
    }
    return out;
  }

  const PipelineInput& in_;
  PipelineOrders& orders_;
  const bool two_ends_;
  const int64_t stage_count_;
  const int64_t chunk_count_;
  const double send_;
  std::vector<Stage> stages_;
  std::vector<Route> routes_;   // by chunk and work
  std::vector<size_t> queue_;   // stages that may have a pass to run
  std::vector<int64_t> ended_;  // micro-batches of each Route::result
  std::vector<double> ends_;    // of each micro-batch in turn, by Route::result
  double tolerance_ = 0;
  double skipped_ = 0;  // what jumps have left out of all ends
};

}  // namespace

absl::optional<SimulatedSeconds> SimulatePipeline(const PipelineInput& in, double send,
                                                  PipelineOrders& orders) {
  return Simulation(in, send, orders).Run();
}

}  // namespace sextant
