#include <algorithm>

#include "engine/memory/schedule/moment_list.h"

namespace sextant {
namespace {

struct HeldAndAwaiting {
  int64_t held = 0;
  int64_t awaiting = 0;
};

InFlightMoment MomentOf(ScheduleWork begins, HeldAndAwaiting counts, absl::string_view when) {
  InFlightMoment moment;
  moment.begins = begins;
  moment.when = when;
  moment.SetCounts({counts.held, 0}, {counts.awaiting, 0});
  return moment;
}

}  // namespace

void VisitOneChunk(int64_t held, absl::string_view when, MomentVisitor visit) {
  visit(MomentOf(ScheduleWork::kBackward, {.held = held}, when));
}

// Micro-batch k's input gradient begins with min(ahead, m - k) held and min(k, delay) awaiting.
void VisitZeroBubble(const StageOfPipeline& of, ZeroBubbleShape shape, MomentVisitor visit) {
  const int64_t count = of.micro_batch_count;
  const int64_t ahead = std::min(shape.ahead, count);
  const int64_t last_full = count - ahead;  // the last k with as many held as ever
  const int64_t awaiting = std::min(last_full, shape.delay);
  visit(MomentOf(ScheduleWork::kInputGradient, {ahead, awaiting},
                 awaiting == 0 ? "first backward pass" : "steady state"));
  // From here to there one more awaits its weight gradient for one less that is held.
  const int64_t most_awaiting = std::min(shape.delay, count - 1);
  if (most_awaiting > awaiting) {
    visit(MomentOf(ScheduleWork::kInputGradient, {count - most_awaiting, most_awaiting},
                   "cool-down"));
  }
  // The first weight gradient follows input gradient `delay`, or the last one.
  visit(MomentOf(ScheduleWork::kWeightGradient,
                 {std::min(ahead, count - most_awaiting) - 1, most_awaiting + 1},
                 most_awaiting <= last_full ? "steady state" : "cool-down"));
}

}  // namespace sextant
