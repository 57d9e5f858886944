// Parts that reports of several plans share.
#ifndef SEXTANT_CLIENT_REPORT_PLANNED_RUN_H_
#define SEXTANT_CLIENT_REPORT_PLANNED_RUN_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/report/rates_text.h"
#include "google/rpc/status.pb.h"
#include "sextant/v1/plan.pb.h"

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
const char* ShortVerdict(const v1::PlannedRun& run);

// The flag of "runs[3].model".
std::string FieldOfRun(const std::string& field);

// Why a part of an answer has no plan: its fields in the user's words, or else its message.
std::string ReasonOf(const google::rpc::Status& status, FieldWords words);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_PLANNED_RUN_H_
