// Several plans side by side, for people, and parts that their reports share.
#ifndef SEXTANT_CLIENT_REPORT_PLANNED_RUN_H_
#define SEXTANT_CLIENT_REPORT_PLANNED_RUN_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/report/rates_text.h"
#include "google/rpc/status.pb.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// Cells of a table of plans; kNoValue where there is none. Days, device-hours, USD and MFU are of
// the estimate that limits are checked against.
std::string StepCell(const v1::Plan& plan);
std::string DaysCell(const v1::Plan& plan);
std::string DeviceHoursCell(const v1::Plan& plan);
std::string CostCell(const v1::Plan& plan);
std::string MfuCell(const v1::Plan& plan);

// "89.93", "12,345".
std::string DaysText(double seconds);

// "950", "12.35k", "4.118M", "1.2e+13": four digits, in as few columns as a table has.
std::string ShortNumber(double value);

// The fields of the plans' config.json files that may stand for parameters and were not read, each
// text once, after `label`.
std::string UnreadLines(const char* label, const std::vector<const v1::Plan*>& plans);

// The sources of the plans' rates with their age at `now`, each once, after `label`.
std::string RatesLines(const char* label, const std::vector<const v1::Plan*>& plans,
                       absl::Time now);

// "yes", "tight", "no", "state"; "refused" of a run without a plan.
std::string ShortVerdict(const v1::PlannedRun& run);

// The flag of "runs[3].model".
std::string FieldOfRun(const std::string& field);

// Why a part of an answer has no plan: its fields in the user's words, or else its message.
std::string ReasonOf(const google::rpc::Status& status, FieldWords words);

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

#endif  // SEXTANT_CLIENT_REPORT_PLANNED_RUN_H_
