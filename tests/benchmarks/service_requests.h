// Requests of the benchmarks: plans, and a calibration as large as the fullest of the probe.
#ifndef SEXTANT_TESTS_BENCHMARKS_SERVICE_REQUESTS_H_
#define SEXTANT_TESTS_BENCHMARKS_SERVICE_REQUESTS_H_

#include <string>

#include "sextant/v1/calibration.pb.h"
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

// A calibration of the processor `uuid`: three data types of 42 matrix multiplications each and a
// sustained one, and about as many of the other measurements as sextant-probe --mode=full writes.
// Invented, but valid for plans.
v1::Calibration FullCalibration(const std::string& uuid);

}  // namespace sextant

#endif  // SEXTANT_TESTS_BENCHMARKS_SERVICE_REQUESTS_H_
