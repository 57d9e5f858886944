// What a measured step of one layout says of others.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_TRANSFER_H_
#define SEXTANT_TESTS_VALIDATION_STEP_TRANSFER_H_

#include <map>
#include <string>
#include <vector>

#include "tests/validation/step_report.h"
#include "tests/validation/step_study.h"

namespace sextant {

// What the service does with a measured step: docs/step_time.md, "A measured step".
inline constexpr double kMeasuredEnd = 0.07;  // of the interval of a near layout

// The doublings between two rows' layouts.
double DistanceOf(const StepRow& one, const StepRow& other);

// The prediction of `generic` for each case as the nearest other case of its model, framework,
// device and type corrects it.
std::map<const StepCase*, double> NearStepsOf(
    const std::vector<StepCase>& cases, const std::map<const StepCase*, StepPrediction>& generic);

// Errors of all pairs of one family and device: one of which is measured, the other predicted.
std::string TransferTable(const StepResults& results);

// What the layout costs that is predicted to be the fastest of a sweep, in which one is measured.
std::string ChoiceTable(const StepResults& results);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_TRANSFER_H_
