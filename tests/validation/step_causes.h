// What is known of rows that no plan explains.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_CAUSES_H_
#define SEXTANT_TESTS_VALIDATION_STEP_CAUSES_H_

#include <string>

#include "tests/validation/step_study.h"

namespace sextant {

// In words; empty where nothing is known.
std::string StepCauseOf(const StepCase& each);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_CAUSES_H_
