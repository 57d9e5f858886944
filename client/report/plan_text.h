// A plan for people.
#ifndef SEXTANT_CLIENT_REPORT_PLAN_TEXT_H_
#define SEXTANT_CLIENT_REPORT_PLAN_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "sextant/v1/planning_service.pb.h"

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

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_PLAN_TEXT_H_
