// Rates that no device of the kind can have: the measurement is wrong.
#ifndef SEXTANT_GPU_PROBE_HEALTH_LIMIT_RULE_H_
#define SEXTANT_GPU_PROBE_HEALTH_LIMIT_RULE_H_

#include <string>
#include <vector>

#include "gpu_probe/health/finding.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// A multiplication may not be faster than the registers of its type, measured at the same clock:
// the clock-true limit; nor than a GPU's matrix units at the highest clock that it may have. Above
// it by more than `tolerance`, and by more than what noise leaves open in either of the two, the
// clock changed in between, or a kernel did not do its work; the finding is UNKNOWN, one a figure.
std::vector<Finding> FindBeyondLimit(const v1::Calibration& calibration, double tolerance);

// A sentence for each sustained multiplication that is faster than a GPU's matrix units at the
// clock of its sample: as that was counted, else as the driver told it. Either may be wrong.
std::vector<std::string> BeyondItsClock(const v1::Calibration& calibration, double tolerance);

// The data types whose multiplications have no limit to be compared with, e.g. {"int8"}, each
// once: nothing says whether those rates can be.
std::vector<std::string> TypesWithoutLimit(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_LIMIT_RULE_H_
