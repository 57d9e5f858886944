// Scores of collectives as tables of Markdown.
#ifndef SEXTANT_TESTS_VALIDATION_COLLECTIVES_TABLES_H_
#define SEXTANT_TESTS_VALIDATION_COLLECTIVES_TABLES_H_

#include <string>

#include "tests/validation/collectives_accuracy.h"

namespace sextant {

// How many rows there are; scores by GPU, then by operation and version, of all ranks; the noise.
// Errors in per cent.
std::string CollectivesReport(const CollectiveTables& tables);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_COLLECTIVES_TABLES_H_
