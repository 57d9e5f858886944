// Answers of layout searches, made by hand, for tests of the front of time and memory.
#ifndef SEXTANT_TESTS_CLIENT_SAMPLE_FRONT_H_
#define SEXTANT_TESTS_CLIENT_SAMPLE_FRONT_H_

#include <utility>
#include <vector>

#include "sextant/v1/plan.pb.h"

namespace sextant::client {

// A plan of "toy" on 64 x h100-sxm of 80 GiB usable with a front of these step times (s) and sizes
// (GiB), the first of them chosen. Intervals go from 10 % below to 20 % above.
v1::Plan PlanWithFront(const std::vector<std::pair<double, double>>& points);

// A front of 10, 12 and 20 s in 70, 60 and 30 GiB; the first is the tie. The second is tensor 4
// (sequence parallel) x context 2 x pipeline 2 x data 4 with recomputed norms, ZeRO stage 1; the
// others one tensor parallel rank on 64 data parallel ones.
v1::Plan SampleFront();

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SAMPLE_FRONT_H_
