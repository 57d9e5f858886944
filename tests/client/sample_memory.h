// Memory by stage whose numbers are worked by hand, for tests of what is printed and drawn.
#ifndef SEXTANT_TESTS_CLIENT_SAMPLE_MEMORY_H_
#define SEXTANT_TESTS_CLIENT_SAMPLE_MEMORY_H_

#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

inline constexpr int64_t kGibibyte = int64_t{1} << 30;

// Four stages of two layers on 16 devices of 80 GiB, tensor 2 x pipeline 4 x data 2.
v1::PlanRunRequest SampleMemoryRequest();

// A plan that fits, with 42 GiB on stage 0; stages 1 and 2 are alike.
v1::PlanRunResponse SampleMemory();

// The same with a ledger on stage 3.
v1::PlanRunResponse SampleLedger();

// On devices of `usable` GiB, with two changes that make it fit.
v1::PlanRunResponse SampleMemoryOn(int64_t usable, v1::Verdict verdict);

// As many stages, no two alike; the first holds the most.
v1::PlanRunResponse SampleOfStages(int count);

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SAMPLE_MEMORY_H_
