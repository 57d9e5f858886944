// Lists as Megatron-LM's arguments write them.
#ifndef SEXTANT_TESTS_VALIDATION_PYTHON_LIST_H_
#define SEXTANT_TESTS_VALIDATION_PYTHON_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant {

// Sums, repetitions and brackets of lists of whole numbers: "([0]*3+[1]*11)" are three 0 and eleven
// 1, "([1]+[0]*2)*2" are 1, 0, 0, 1, 0, 0.
// Errors: kInvalidArgument for anything else, and for more than 100,000 entries.
absl::StatusOr<std::vector<int64_t>> PythonList(absl::string_view text);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_PYTHON_LIST_H_
