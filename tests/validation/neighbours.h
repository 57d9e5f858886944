// Jobs that ran out of memory, and similar jobs that didn't.
#ifndef SEXTANT_TESTS_VALIDATION_NEIGHBOURS_H_
#define SEXTANT_TESTS_VALIDATION_NEIGHBOURS_H_

#include <string>
#include <vector>

#include "tests/validation/answer.h"

namespace sextant {

// A job's settings, as far as such jobs differ: "72 layers of 14336, 64 heads, tensor 8, ...".
std::vector<std::string> SettingsOf(const MeasuredCase& run);

// The measured run of `answers`, of the same source and on the same device, that differs from `run`
// in the fewest settings; of several, the one with the nearest prediction. Null where there is
// none.
const Answer* NearestThatFits(const Answer& run, const std::vector<Answer>& answers);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_NEIGHBOURS_H_
