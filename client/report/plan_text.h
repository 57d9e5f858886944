// A plan for people: the few lines that decide, and its sections: a step, its operations, a search.
// Sections start with an empty line and their title.
#ifndef SEXTANT_CLIENT_REPORT_PLAN_TEXT_H_
#define SEXTANT_CLIENT_REPORT_PLAN_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/report/rates_text.h"
#include "client/text/sources.h"
#include "sextant/v1/compute.pb.h"
#include "sextant/v1/interval.pb.h"
#include "sextant/v1/layout_search.pb.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "sextant/v1/step_time.pb.h"

namespace sextant::client {

// The plan in `response`, headline first; the ages of measured rates are as of `now`.
std::string PlanText(const v1::PlanRunResponse& response, absl::Time now);

// Its headline, and the layouts that a search found, with the front of time and memory.
std::string LayoutsText(const v1::Plan& plan, absl::Time now);

// Sections of the plan. Each starts with an empty line and its title.
std::string ModelSection(const v1::ParameterCounts& parameters);

// The plan's bounds and estimate, side by side.
std::string CostSection(const v1::Plan& plan);

// symbol = formula, = its numbers, = value unit [source]; "" where the plan has none.
std::string DerivationSection(const v1::Plan& plan);

// Verdict and missed limits, layout, memory, what was counted, time, cost, limits, the rates with
// their age at `now`, and the warning that matters most: lines of at most `width` columns.
std::string PlanHead(const v1::Plan& plan, absl::Time now, size_t width);

// A search in at most kScreenLines lines: the first lines of PlanHead(), the best layouts, and how
// to see the rest.
std::string BriefSearch(const v1::Plan& plan, size_t width);

// The whole answer where nothing more is asked for: PlanHead(), and how to see the rest.
std::string BriefPlan(const v1::Plan& plan, absl::Time now, size_t width);

enum class KernelShares { kSaid, kLeftOut };

// "reference: kernels, memory; measured-device: matmul flops 12 days ago (unstable)": what the plan
// stands on, by the kinds of sources. The kernels of its step come first, with their shares of its
// time where they are of several.
std::string RatesWords(const v1::Plan& plan, absl::Time now,
                       KernelShares shares = KernelShares::kSaid);

// "assumed dgx-h100, ib-ndr": the servers and networks that the plans assume, each once; "": none.
std::string AssumedNodesWords(const std::vector<const v1::Plan*>& plans);

// "predicted", "by the textbook", "at the measured rate": what follows a time.
std::string EstimateWords(v1::EstimateKind kind);

// The estimate of that kind; null where there is none.
const v1::TimeEstimate* EstimateOf(const v1::Plan& plan, v1::EstimateKind kind);

// True where its ends differ.
bool IsRange(const v1::Interval& interval);

// The step's time, its parts as a table with bars, and what higher rates would save. Starts with an
// empty line and its title; "" where the plan has no time of a step.
std::string StepSection(const v1::Plan& plan);

// The software's constants with their sources, in the words of the command line; "" where the
// answer has none.
std::string SoftwareSection(const v1::Plan& plan);

// A section a stage, or run of stages that are alike: its times, its operations from the longest to
// the shortest, and its exchanges. After the last one come the sources that operations refer to, of
// `sources`. "" where the answer has no operations.
std::string ComputeSections(const v1::Compute& compute, const SourceList& sources);

// The operations that take longest in a step, each with what bounds it. "" where there are none.
std::string LongestOperationsTable(const v1::StepTime& step);

// The number of layouts considered, and the best as a table. Starts with an empty line and its
// title; "" where nothing was searched for.
std::string SearchSection(const v1::Plan& plan);

// The best layouts, up to `count`, a line each of at most `width` columns, after two lines of
// heads;
// "" where nothing was searched for.
std::string BestLayouts(const v1::Plan& plan, size_t count, size_t width);

// "12,288 of 41,048 layouts; 8.03 s: tp 4 sp pp 4 ...", the best so far.
std::string SearchProgressWords(const v1::SearchProgress& progress, int64_t device_count);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_PLAN_TEXT_H_
