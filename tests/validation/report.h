// docs/accuracy_memory.md.
#ifndef SEXTANT_TESTS_VALIDATION_REPORT_H_
#define SEXTANT_TESTS_VALIDATION_REPORT_H_

#include <string>

#include "tests/validation/answer.h"

namespace sextant {

// The report in Markdown. `command` is how it was made. The same answers, the same text.
std::string ReportOf(const Answers& answers, const std::string& command);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_REPORT_H_
