#include "tests/engine/time/timed_pipeline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "engine/memory/schedule/schedule_order.h"

namespace sextant {
namespace {

class Runner {
 public:
  explicit Runner(const PipelineInput& in)
      : in_(in),
        two_ends_(in.pipeline.schedule == PipelineSchedule::kDualPipe),
        stages_(in.layout.pipeline_parallel_size),
        chunks_(two_ends_ ? 2 : in.layout.virtual_stage_count) {
    for (int64_t stage = 0; stage < stages_; ++stage) {
      orders_.push_back(OrderOfStage(in.pipeline, in.layout, stage).value());
    }
    next_.resize(orders_.size());
    start_.resize(orders_.size());
    end_.resize(orders_.size());
  }

  TimedPipeline Run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t stage = 0; stage < stages_; ++stage) {
        while (Step(stage)) moved = true;
      }
    }
    TimedPipeline out;
    for (size_t i = 0; i < orders_.size(); ++i) {
      if (next_[i] < orders_[i].size()) out.deadlock = true;
      out.total = std::max(out.total, end_[i]);
      out.longest_stage = std::max(out.longest_stage, end_[i] - start_[i]);
    }
    return out;
  }

 private:
  // When the result of a pass is at hand for the next chunk on its way; negative: not yet.
  double Arrival(const WorkItem& item, int64_t stage, int64_t by) const {
    int64_t chunk = item.chunk;
    if (two_ends_) {
      stage += chunk == 0 ? -by : by;
      if (stage < 0 || stage >= stages_) return 0;
    } else {
      const int64_t position = chunk * stages_ + stage - by;
      if (position < 0 || position >= stages_ * chunks_) return 0;
      stage = position % stages_;
      chunk = position / stages_;
    }
    const auto found = done_.find({by > 0, item.micro_batch, chunk, stage});
    if (found == done_.end()) return -1;
    return found->second + (stages_ > 1 ? in_.send.value() : 0);
  }

  double ReadyAt(const WorkItem& item, int64_t stage) const {
    if (item.work == ScheduleWork::kWeightGradient) return 0;  // its own order has it after
    return Arrival(item, stage, item.work == ScheduleWork::kForward ? 1 : -1);
  }

  double Duration(const WorkItem& item, int64_t stage) const {
    const ChunkTime& time = in_.chunks[static_cast<size_t>(stage * chunks_ + item.chunk)];
    switch (item.work) {
      case ScheduleWork::kForward:
        return time.forward.value();
      case ScheduleWork::kBackward:
        return time.input_gradient.value() + time.weight_gradient.value();
      case ScheduleWork::kInputGradient:
        return time.input_gradient.value();
      case ScheduleWork::kWeightGradient:
        return time.weight_gradient.value();
    }
    return 0;
  }

  // Runs the stage's next item, or pair of items, if it can.
  bool Step(int64_t stage) {
    const size_t s = static_cast<size_t>(stage);
    if (next_[s] == orders_[s].size()) return false;
    const size_t end = next_[s] + (orders_[s][next_[s]].with_next ? 2 : 1);
    double start = end_[s];
    double duration = 0;
    for (size_t i = next_[s]; i < end; ++i) {
      const double ready = ReadyAt(orders_[s][i], stage);
      if (ready < 0) return false;
      start = std::max(start, ready);
      duration += Duration(orders_[s][i], stage);
    }
    if (next_[s] == 0) start_[s] = start;
    end_[s] = start + duration;
    for (; next_[s] < end; ++next_[s]) {
      const WorkItem& item = orders_[s][next_[s]];
      if (item.work == ScheduleWork::kWeightGradient) continue;
      done_[{item.work == ScheduleWork::kForward, item.micro_batch, item.chunk, stage}] = end_[s];
    }
    return true;
  }

  const PipelineInput& in_;
  const bool two_ends_;
  const int64_t stages_;
  const int64_t chunks_;
  std::vector<std::vector<WorkItem>> orders_;
  std::vector<size_t> next_;
  std::vector<double> start_;
  std::vector<double> end_;
  std::map<std::tuple<bool, int64_t, int64_t, int64_t>, double> done_;
};

}  // namespace

TimedPipeline RunPipeline(const PipelineInput& in) { return Runner(in).Run(); }

}  // namespace sextant
