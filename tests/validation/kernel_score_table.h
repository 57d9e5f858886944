// Scores as a table of Markdown.
#ifndef SEXTANT_TESTS_VALIDATION_KERNEL_SCORE_TABLE_H_
#define SEXTANT_TESTS_VALIDATION_KERNEL_SCORE_TABLE_H_

#include <string>

#include "tests/validation/kernel_score.h"

namespace sextant {

// A row a score, errors in per cent; below it what was left out.
std::string KernelScoreTable(const KernelScores& scores);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_KERNEL_SCORE_TABLE_H_
