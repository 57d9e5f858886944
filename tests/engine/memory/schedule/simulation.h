// A pipeline that runs the orders of all of its stages for a whole step, and counts what each stage
// holds. It knows what a pass waits for and how long it takes, and nothing of schedules.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_SCHEDULE_SIMULATION_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_SCHEDULE_SIMULATION_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/schedule/schedule_order.h"

namespace sextant {

// As a backward pass, a half of one, or a weight gradient began.
struct SimulatedPoint {
  ScheduleWork begins = ScheduleWork::kBackward;
  int64_t chunk = 0;
  std::vector<int64_t> counts;  // held, chunk by chunk, and then awaiting a weight gradient

  friend bool operator==(const SimulatedPoint&, const SimulatedPoint&) = default;
};

struct SimulatedStage {
  std::vector<SimulatedPoint> points;
  std::vector<int64_t> left;  // `counts` at the end
  double passes = 0;          // time that they take
  double start = 0;           // of its first pass
  double end = 0;
};

struct Simulation {
  bool deadlock = false;
  bool repeated = false;  // a pass ran twice
  std::vector<SimulatedStage> stages;

  // The longest that a stage stood still between its first and its last pass.
  double Bubble() const {
    double most = 0;
    for (const SimulatedStage& stage : stages) {
      most = std::max(most, stage.end - stage.start - stage.passes);
    }
    return most;
  }
};

// How long a pass takes, and what it makes takes to the next stage.
struct SimulatedTimes {
  std::function<double(const WorkItem&, int64_t stage)> of;
  double send = 0;
  bool records_points = false;
};

class Simulator {
 public:
  Simulator(const PipelineSpec& pipeline, const ParallelLayout& layout, SimulatedTimes times)
      : times_(std::move(times)),
        two_ends_(pipeline.schedule == PipelineSchedule::kDualPipe),
        stage_count_(layout.pipeline_parallel_size),
        chunk_count_(two_ends_ ? 2 : layout.virtual_stage_count) {
    for (int64_t stage = 0; stage < stage_count_; ++stage) {
      orders_.push_back(OrderOfStage(pipeline, layout, stage).value());
      out_.stages.emplace_back().left.resize(static_cast<size_t>(2 * chunk_count_));
    }
    next_.resize(orders_.size());
  }

  Simulation Run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t stage = 0; stage < stage_count_; ++stage) {
        while (Step(stage)) moved = true;
      }
    }
    for (size_t i = 0; i < orders_.size(); ++i) {
      if (next_[i] < orders_[i].size()) out_.deadlock = true;
    }
    return std::move(out_);
  }

 private:
  enum class Made { kOutput, kInputGradient, kWeightGradient };
  struct Place {
    int64_t stage;
    int64_t chunk;
  };

  // Where a micro-batch is `by` (1 or -1) chunks further along its way; false beyond its ends.
  bool Go(int64_t by, Place& place) const {
    if (two_ends_) {
      place.stage += place.chunk == 0 ? by : -by;
      return place.stage >= 0 && place.stage < stage_count_;
    }
    const int64_t position = place.chunk * stage_count_ + place.stage + by;
    if (position < 0 || position >= stage_count_ * chunk_count_) return false;
    place = {position % stage_count_, position / stage_count_};
    return true;
  }

  // When what `item` waits for is there; -1: not yet.
  double ReadyAt(const WorkItem& item, int64_t stage) const {
    Place from = {stage, item.chunk};
    if (item.work == ScheduleWork::kForward) {
      return Go(-1, from) ? Sent(Made::kOutput, item, from) : 0;
    }
    if (item.work == ScheduleWork::kWeightGradient) return At(Made::kInputGradient, item, from);
    const double own = At(Made::kOutput, item, from);
    if (own < 0 || !Go(1, from)) return own;
    const double gradient = Sent(Made::kInputGradient, item, from);
    return gradient < 0 ? -1 : std::max(own, gradient);
  }

  double At(Made made, const WorkItem& item, Place place) const {
    const auto found = made_.find({made, item.micro_batch, place.chunk, place.stage});
    return found == made_.end() ? -1 : found->second;
  }
  double Sent(Made made, const WorkItem& item, Place from) const {
    const double at = At(made, item, from);
    return at < 0 || stage_count_ == 1 ? at : at + times_.send;
  }

  // Runs the stage's next item, or pair of items, if it can.
  bool Step(int64_t stage) {
    const size_t s = static_cast<size_t>(stage);
    if (next_[s] == orders_[s].size()) return false;
    const size_t end = next_[s] + (orders_[s][next_[s]].with_next ? 2 : 1);
    double start = out_.stages[s].end;
    double duration = 0;
    for (size_t i = next_[s]; i < end; ++i) {
      const double ready = ReadyAt(orders_[s][i], stage);
      if (ready < 0) return false;
      start = std::max(start, ready);
      duration += times_.of(orders_[s][i], stage);
    }
    if (next_[s] == 0) out_.stages[s].start = start;
    out_.stages[s].end = start + duration;
    out_.stages[s].passes += duration;
    for (size_t i = next_[s]; i < end; ++i) Do(orders_[s][i], stage);
    next_[s] = end;
    return true;
  }

  void Do(const WorkItem& item, int64_t stage) {
    SimulatedStage& s = out_.stages[static_cast<size_t>(stage)];
    int64_t& held = s.left[static_cast<size_t>(item.chunk)];
    int64_t& awaiting = s.left[static_cast<size_t>(chunk_count_ + item.chunk)];
    Made made = Made::kInputGradient;
    if (item.work == ScheduleWork::kForward) {
      made = Made::kOutput;
      ++held;
    } else if (times_.records_points) {
      s.points.push_back({.begins = item.work, .chunk = item.chunk, .counts = s.left});
    }
    if (item.work == ScheduleWork::kBackward) --held;
    if (item.work == ScheduleWork::kInputGradient) {
      --held;
      ++awaiting;
    }
    if (item.work == ScheduleWork::kWeightGradient) {
      made = Made::kWeightGradient;
      --awaiting;
    }
    if (!made_.insert({{made, item.micro_batch, item.chunk, stage}, s.end}).second) {
      out_.repeated = true;
    }
  }

  const SimulatedTimes times_;
  const bool two_ends_;
  const int64_t stage_count_;
  const int64_t chunk_count_;
  std::vector<std::vector<WorkItem>> orders_;
  std::vector<size_t> next_;
  std::map<std::tuple<Made, int64_t, int64_t, int64_t>, double> made_;  // when
  Simulation out_;
};

// A forward pass, an input gradient and a weight gradient take a unit of time each, and passes that
// run together as long as one after the other. Lists the points.
inline Simulation Simulate(const PipelineSpec& pipeline, const ParallelLayout& layout) {
  const auto units = [](const WorkItem& item, int64_t) {
    return item.work == ScheduleWork::kBackward ? 2.0 : 1.0;
  };
  return Simulator(pipeline, layout, {.of = units, .records_points = true}).Run();
}

// The same of a point that InFlight lists.
inline SimulatedPoint Listed(const InFlightPoint& point, int64_t chunk_count) {
  SimulatedPoint out = {.begins = point.begins, .chunk = point.chunk, .counts = {}};
  for (int64_t c = 0; c < chunk_count; ++c) out.counts.push_back(point.Held(c));
  for (int64_t c = 0; c < chunk_count; ++c) out.counts.push_back(point.AwaitingWeightGradient(c));
  return out;
}

// The bytes of a point.
inline int64_t BytesOf(const SimulatedPoint& point, const std::vector<ChunkBytes>& chunks) {
  const ChunkBytes& in_work = chunks[static_cast<size_t>(point.chunk)];
  int64_t sum = point.begins == ScheduleWork::kWeightGradient ? in_work.weight_gradient_work.value()
                                                              : in_work.backward_work.value();
  for (size_t c = 0; c < chunks.size(); ++c) {
    sum += point.counts[c] * chunks[c].held.value();
    sum += point.counts[chunks.size() + c] * chunks[c].awaiting_weight_gradient.value();
  }
  return sum;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_SCHEDULE_SIMULATION_H_
