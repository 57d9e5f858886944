// Jobs that ran out of memory, beside jobs like them that didn't.
#ifndef SEXTANT_TESTS_VALIDATION_NEIGHBOURS_H_
#define SEXTANT_TESTS_VALIDATION_NEIGHBOURS_H_

#include <string>
#include <vector>

#include "tests/validation/answer.h"

namespace sextant {

// What a job is, as far as such jobs differ: "72 layers of 14336, 64 heads, tensor 8, ...".
std::vector<std::string> SettingsOf(const MeasuredCase& run);

// Of `answers`, the measured run of the same source on as much memory that differs from `run` in
// the fewest settings; of several the one whose prediction is nearest. Null where there is none.
const Answer* NearestThatFits(const Answer& run, const std::vector<Answer>& answers);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_NEIGHBOURS_H_
