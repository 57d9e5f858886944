// A closed loop of PlanRun calls: a fixed number in flight, each answered before the next starts.
#ifndef SEXTANT_TESTS_BENCHMARKS_CLOSED_LOOP_H_
#define SEXTANT_TESTS_BENCHMARKS_CLOSED_LOOP_H_

#include <string>

#include "sextant/v1/planning_service.pb.h"

namespace sextant {

struct LoopResult {
  double seconds = 0;
  int failed_calls = 0;
};

// Calls the server at `address` `calls` times from one thread, `in_flight` at a time, each time
// with one more token to train on than before.
LoopResult RunClosedLoop(const std::string& address, v1::PlanRunRequest request, int calls,
                         int in_flight);

}  // namespace sextant

#endif  // SEXTANT_TESTS_BENCHMARKS_CLOSED_LOOP_H_
