// Why predictions are off: causes that hold for all rows of a kind, never for one row.
#ifndef SEXTANT_TESTS_VALIDATION_CAUSES_H_
#define SEXTANT_TESTS_VALIDATION_CAUSES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tests/validation/answer.h"

namespace sextant {

struct Cause {
  absl::string_view name;
  absl::string_view why;
  bool (*holds)(const Answer& answer, MemoryDefinition definition);
};

// The graver first: of several that hold for a row the first is its cause.
absl::Span<const Cause> Causes();

// Null where no cause is named.
const Cause* CauseOf(const Answer& answer, MemoryDefinition definition);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_CAUSES_H_
