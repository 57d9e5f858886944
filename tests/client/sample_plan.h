// A plan whose numbers are worked by hand, for tests of what is printed.
#ifndef SEXTANT_TESTS_CLIENT_SAMPLE_PLAN_H_
#define SEXTANT_TESTS_CLIENT_SAMPLE_PLAN_H_

#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// 1e9 parameters, 20e9 tokens, 8e9 bytes of activations, 8 devices of 1e15 FLOP/s and 80e9 bytes,
// 2 USD an hour, 700 W, assumed MFU 0.4.
v1::PlanRunRequest SampleRequest();

// Its plan, which fits; with a derivation.
v1::PlanRunResponse SampleResponse();

// The same without activations: model state alone was counted, and fits.
v1::PlanRunResponse SampleOfModelState();

// That model state on one device of 10e9 bytes, which is 6e9 too few.
v1::PlanRunResponse SampleThatDoesNotFit();

// SampleResponse() with a predicted step: 10 s (9 to 12), 1e6 tokens, in 7 parts; tensor 2 x
// pipeline 2 x data 2.
v1::PlanRunResponse SampleOfStep();

// Its request: SampleRequest() with that layout.
v1::PlanRunRequest SampleStepRequest();

// `response` as a BASIC view has it: without components, stages, state, assumptions, sources.
v1::PlanRunResponse BasicView(v1::PlanRunResponse response);

// The plan's estimate of that kind, which it has.
v1::TimeEstimate& MutableEstimate(v1::Plan& plan, v1::EstimateKind kind);

// Three equal ends.
v1::Interval Exactly(double value);

// One accelerator, with figures of every kind.
v1::ListAcceleratorsResponse SampleAccelerators();

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SAMPLE_PLAN_H_
