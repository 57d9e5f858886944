// The model of a row that is timed.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_MODEL_H_
#define SEXTANT_TESTS_VALIDATION_STEP_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sextant/v1/model.pb.h"
#include "tests/support/csv.h"

namespace sextant {

// A row's model, as a spec and as what the other translators ask of it.
struct StepModel {
  v1::ModelSpec spec = {};
  std::string name = {};  // in lower case, without sizes of cluster or notes: "llama3-70b"
  int64_t layer_count = 0;
  bool experts = false;
  bool dropout = false;     // GPT-3 as its recipes train it
  bool heads_open = false;  // the number of heads isn't published, and was assumed
};

// Errors: kInvalidArgument where the shape isn't published.
absl::StatusOr<StepModel> StepModelOf(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_MODEL_H_
