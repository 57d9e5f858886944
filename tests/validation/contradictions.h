// Figures of one source that contradict each other.
#ifndef SEXTANT_TESTS_VALIDATION_CONTRADICTIONS_H_
#define SEXTANT_TESTS_VALIDATION_CONTRADICTIONS_H_

#include <vector>

#include "tests/validation/answer.h"

namespace sextant {

inline constexpr char kContradicted[] = "contradicted by a repetition";

// Runs of a source on the same hardware that are the same question, so that the service's answer is
// the same to the byte, ought to have the same memory. Where the largest figure of such a group is
// more than 10 % above the smallest, something else differs that rows don't say: mostly a release
// of the framework. All runs of the group get kContradicted as a trait and as an assumption. The
// service's answer plays no part beyond forming groups.
void MarkContradicted(std::vector<Answer>& answers);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_CONTRADICTIONS_H_
