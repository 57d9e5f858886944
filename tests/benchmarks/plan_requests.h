// The plans that benchmarks of the service ask for.
#ifndef SEXTANT_TESTS_BENCHMARKS_PLAN_REQUESTS_H_
#define SEXTANT_TESTS_BENCHMARKS_PLAN_REQUESTS_H_

#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// Llama 3.1 70B on 1,024 H100s, without a layout.
v1::PlanRunRequest PresetPlan();

// With memory and time of a layout.
v1::PlanRunRequest Llama70bLayout();   // TP 8, PP 4
v1::PlanRunRequest Llama405bLayout();  // TP 8, PP 14
v1::PlanRunRequest DeepSeekLayout();   // DeepSeek-V3: PP 16, EP 64

// With full recomputation, by which the two larger ones fit: of those that do not, the changes that
// would make them fit are computed too.
v1::PlanRunRequest Recomputing(v1::PlanRunRequest request);

// Llama 3.1 70B on 512 H100s: the layout is searched for, among 20,000.
v1::PlanRunRequest OpenPlan();

}  // namespace sextant

#endif  // SEXTANT_TESTS_BENCHMARKS_PLAN_REQUESTS_H_
