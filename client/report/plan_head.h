// The head of a plan for people: what decides, in a few lines.
#ifndef SEXTANT_CLIENT_REPORT_PLAN_HEAD_H_
#define SEXTANT_CLIENT_REPORT_PLAN_HEAD_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "sextant/v1/interval.pb.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::client {

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

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_PLAN_HEAD_H_
