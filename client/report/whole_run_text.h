// Interruptions, checkpoints, limits and data of a run, as text, and the exit codes of answers.
#ifndef SEXTANT_CLIENT_REPORT_WHOLE_RUN_TEXT_H_
#define SEXTANT_CLIENT_REPORT_WHOLE_RUN_TEXT_H_

#include <optional>
#include <string>

#include "client/io/call_error.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/sizing.pb.h"

namespace sextant::client {

// The estimate that a plan's limits are checked against: predicted, else the textbook's, else what
// a measured rate gives. Null where there is none.
const v1::TimeEstimate* BasisEstimate(const v1::Plan& plan);

// By the 80 % interval of what is expected: the whole interval keeps the limit, only its expected
// value does, only its low end does, none of it does. Without an interval: the first or the last.
enum class LimitState { kMet, kMayBeMissed, kLikelyMissed, kMissed };

// The worst state of the estimate's deadline and budget. Absent where it has neither.
std::optional<LimitState> WorstLimit(const v1::TimeEstimate& estimate);

// True where the plan's expected run misses a limit.
bool MissesLimit(const v1::Plan& plan);

// "missed".
const char* LimitStateWords(LimitState state);

// "DEADLINE MISSED by 16.9 days, BUDGET MAY BE MISSED"; empty where all limits are met.
std::string MissWords(const v1::Plan& plan);

// The verdict of the plan, with missed limits, as one line of at most words::kMaxLineLength
// characters and a line end: --output=line.
std::string VerdictLine(const v1::Plan& plan);

// "deadline met, 12.4 days to spare, chance 93 %; budget missed by 12.00 USD"; empty where no limit
// was given.
std::string LimitWords(const v1::TimeEstimate& estimate);

// The section "Whole run": steps, interruptions, checkpoints, data, telemetry.
std::string WholeRunSection(const v1::Plan& plan);

// Absent where this client does not know the verdict.
std::optional<ExitCode> ExitCodeOfVerdict(v1::Verdict verdict);

// That of the verdict, but kExitLate where a run that may fit misses its deadline or budget.
std::optional<ExitCode> ExitCodeOfPlan(const v1::Plan& plan);

// That of an answer without a size that meets everything, by what the nearest one misses.
ExitCode ExitCodeOfMiss(v1::SizeLimit limit);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_WHOLE_RUN_TEXT_H_
