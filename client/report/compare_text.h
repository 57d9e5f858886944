// Several plans side by side, for people.
#ifndef SEXTANT_CLIENT_REPORT_COMPARE_TEXT_H_
#define SEXTANT_CLIENT_REPORT_COMPARE_TEXT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::client {

// The flags in which runs differ.
struct Comparison {
  std::vector<std::string> flags;                // "accelerator", "tp"
  std::vector<std::vector<std::string>> values;  // of each run, one a flag
};

// First, where no run surely meets its deadline and budget, by how much the best misses them. A
// line a run: what differs, verdict, memory, time and money; the fastest and the cheapest of those
// that fit marked. Below them what their times are, the sources of rates with their age at `now`,
// and runs without a plan with the reason. `response` has a run for each of `comparison.values`.
std::string CompareText(const Comparison& comparison, const v1::BatchPlanRunsResponse& response,
                        absl::Time now);

// The index of the best run, by its exit code, its limits and its time. -1 where none has a plan.
int BestRun(const v1::BatchPlanRunsResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_COMPARE_TEXT_H_
