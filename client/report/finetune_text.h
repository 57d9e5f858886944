// The ways to fine-tune a model side by side, for people.
#ifndef SEXTANT_CLIENT_REPORT_FINETUNE_TEXT_H_
#define SEXTANT_CLIENT_REPORT_FINETUNE_TEXT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// A way to fine-tune, and the launchers that write its file: names of --emit.
struct TuningMethod {
  std::string name;  // "full", "lora", "qlora"
  std::vector<std::string> launchers;
};

// The run, a line a method with trained parameters, memory, verdict, time and money, the layout of
// each or why it has none, the adapters, the files that can be written, and the sources of rates
// with their age at `now`. `batch` and `response` have a run for each of `methods`, of which
// one has a plan.
std::string FinetuneText(const std::vector<TuningMethod>& methods,
                         const v1::BatchPlanRunsRequest& batch,
                         const v1::BatchPlanRunsResponse& response, absl::Time now);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_FINETUNE_TEXT_H_
