// The assumptions of a plan, as sentences for people.
#ifndef SEXTANT_ENGINE_RUN_ASSUMPTIONS_H_
#define SEXTANT_ENGINE_RUN_ASSUMPTIONS_H_

#include <string>
#include <vector>

#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"

namespace sextant {

// The utilisation of the textbook estimate where the request gives none.
//
// Of 133 published bf16 runs of dense models that state an MFU, the median is 0.53 and one
// in ten lies below 0.39; those are tuned benchmarks, so the default is near their low end.
// Source: tests/golden/assumed_mfu_test.py computes both figures from the published runs.
inline constexpr double kAssumedMfu = 0.4;

// The source of the textbook estimate's MFU: "given in the request", or "assumed: ...".
std::string MfuBasis(const RunSpec& run, DataType compute);

// All simplifying assumptions of the plan's numbers.
std::vector<std::string> AssumptionsOf(const RunSpec& run, const ResolvedRun& resolved);

// Appends to `out` the assumptions that the memory of `run` rests on.
void AddMemoryAssumptions(const RunSpec& run, const ResolvedRun& resolved,
                          std::vector<std::string>& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_ASSUMPTIONS_H_
