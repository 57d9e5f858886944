#include "tests/engine/memory/schedule/simulation.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sextant {
namespace {

enum class Made { kOutput, kInputGradient, kWeightGradient };

class Simulator {
 public:
  Simulator(const PipelineSpec& pipeline, const ParallelLayout& layout)
      : two_ends_(pipeline.schedule == PipelineSchedule::kDualPipe),
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
  int64_t ReadyAt(const WorkItem& item, int64_t stage) const {
    Place from = {stage, item.chunk};
    if (item.work == ScheduleWork::kForward) {
      return Go(-1, from) ? At(Made::kOutput, item, from) : 0;
    }
    if (item.work == ScheduleWork::kWeightGradient) return At(Made::kInputGradient, item, from);
    const int64_t own = At(Made::kOutput, item, from);
    if (own < 0 || !Go(1, from)) return own;
    const int64_t gradient = At(Made::kInputGradient, item, from);
    return gradient < 0 ? -1 : std::max(own, gradient);
  }

  int64_t At(Made made, const WorkItem& item, Place place) const {
    const auto found = made_.find({made, item.micro_batch, place.chunk, place.stage});
    return found == made_.end() ? -1 : found->second;
  }

  // Runs the stage's next item, or pair of items, if it can.
  bool Step(int64_t stage) {
    const size_t s = static_cast<size_t>(stage);
    if (next_[s] == orders_[s].size()) return false;
    const size_t end = next_[s] + (orders_[s][next_[s]].with_next ? 2 : 1);
    int64_t start = out_.stages[s].end;
    int64_t duration = 0;
    for (size_t i = next_[s]; i < end; ++i) {
      const int64_t ready = ReadyAt(orders_[s][i], stage);
      if (ready < 0) return false;
      start = std::max(start, ready);
      duration += orders_[s][i].work == ScheduleWork::kBackward ? 2 : 1;
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
    } else {
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

  const bool two_ends_;
  const int64_t stage_count_;
  const int64_t chunk_count_;
  std::vector<std::vector<WorkItem>> orders_;
  std::vector<size_t> next_;
  std::map<std::tuple<Made, int64_t, int64_t, int64_t>, int64_t> made_;  // when
  Simulation out_;
};

}  // namespace

int64_t Simulation::Bubble() const {
  int64_t most = 0;
  for (const SimulatedStage& stage : stages) {
    most = std::max(most, stage.end - stage.start - stage.passes);
  }
  return most;
}

Simulation Simulate(const PipelineSpec& pipeline, const ParallelLayout& layout) {
  return Simulator(pipeline, layout).Run();
}

SimulatedPoint Listed(const InFlightPoint& point, int64_t chunk_count) {
  SimulatedPoint out = {.begins = point.begins, .chunk = point.chunk, .counts = {}};
  for (int64_t c = 0; c < chunk_count; ++c) out.counts.push_back(point.Held(c));
  for (int64_t c = 0; c < chunk_count; ++c) out.counts.push_back(point.AwaitingWeightGradient(c));
  return out;
}

int64_t BytesOf(const SimulatedPoint& point, const std::vector<ChunkBytes>& chunks) {
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
