// The service's answers for a published run, in terms of what was measured.
#ifndef SEXTANT_TESTS_VALIDATION_ANSWER_H_
#define SEXTANT_TESTS_VALIDATION_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "sextant/v1/plan.pb.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

// The answer to one request.
struct Prediction {
  int64_t stage = 0;  // the one that was read; else the fullest
  int64_t stage_count = 1;
  v1::StageMemory memory = {};  // of that stage
  Bytes calculated = Bytes(0);  // matrices and activations of layers alone
  v1::Verdict verdict = {};     // on the fullest stage
  double fit_chance = 0;

  // Bytes. allocated, reserved and process: StageMemory's. calculated: what a source's own formula
  // is of, three equal ends.
  v1::Interval Of(MemoryDefinition definition) const;
  // Signed: the expected figure over what was measured, less 1.
  double ErrorOf(const MeasuredMemory& measurement) const;
};

// Which of a run's requests was sent.
enum class RequestKind { kAllFields, kDefaults };

struct Answer {
  MeasuredCase run = {};
  Prediction all_fields = {};
  absl::optional<Prediction> defaults = {};  // absent where the service refuses that request
  std::string defaults_refused = {};         // its words then

  // Null where the service refuses that request.
  const Prediction* Of(RequestKind request) const;
};

// Errors: those of the service for all_fields.
absl::StatusOr<Answer> AnswerOf(MeasuredCase run);

// The range of the intervals that an open case's requests are answered with.
struct OpenAnswer {
  OpenCase run = {};
  Bytes low = Bytes(0);
  Bytes high = Bytes(0);
  bool may_not_fit = false;  // some choice's verdict isn't FITS

  // True where the measured figure lies between both; of a job that ran out, may_not_fit.
  bool inside() const;
};

// Errors: those of the service for the first request that it refuses.
absl::StatusOr<OpenAnswer> OpenAnswerOf(OpenCase run);

// A row that isn't asked about.
struct RowLeftOut {
  std::string source = {};
  std::string id = {};
  std::string reason = {};
};

struct Answers {
  std::vector<Answer> answered = {};
  std::vector<OpenAnswer> open = {};
  std::vector<RowLeftOut> left_out = {};
};

// All rows of megatron_ci_memory.csv and of measured_runs.csv that say something about memory, or
// of files with their columns. A run that the service refuses is left out with its words.
Answers AnswersOf(const std::vector<CsvRow>& megatron_ci, const std::vector<CsvRow>& measured_runs);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_ANSWER_H_
