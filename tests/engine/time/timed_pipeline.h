// A pipeline that runs the orders of all of its stages for the whole step. It knows what a pass
// waits for and how long it takes, and nothing of schedules.
#ifndef SEXTANT_TESTS_ENGINE_TIME_TIMED_PIPELINE_H_
#define SEXTANT_TESTS_ENGINE_TIME_TIMED_PIPELINE_H_

#include "engine/time/pipeline_time.h"

namespace sextant {

struct TimedPipeline {
  double total = 0;
  double longest_stage = 0;  // from its first pass to its last
  bool deadlock = false;
};

TimedPipeline RunPipeline(const PipelineInput& in);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TIME_TIMED_PIPELINE_H_
