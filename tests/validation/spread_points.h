// Which of many measured shapes make a calibration.
#ifndef SEXTANT_TESTS_VALIDATION_SPREAD_POINTS_H_
#define SEXTANT_TESTS_VALIDATION_SPREAD_POINTS_H_

#include <cstddef>
#include <vector>

#include "engine/hardware/kernels/term_fit.h"

namespace sextant {

// Indices of `count` positions (fewer where there are fewer) that fill the space they lie in: the
// one nearest to `centre`, then always the one farthest from all that were taken; of equals the
// first. Times play no part.
std::vector<size_t> SpreadPoints(const std::vector<TermPosition>& positions,
                                 const TermPosition& centre, size_t count);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_SPREAD_POINTS_H_
