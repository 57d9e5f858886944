// The engine's answer for a published run, in terms of what was measured.
#ifndef SEXTANT_TESTS_VALIDATION_ANSWER_H_
#define SEXTANT_TESTS_VALIDATION_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/memory/ledger/stage_memory.h"
#include "tests/support/csv.h"
#include "tests/validation/measured_case.h"

namespace sextant {

struct Answer {
  MeasuredCase run;
  int64_t stage = 0;  // the one that was read; else the fullest
  int64_t stage_count = 1;
  StageMemory memory = {};
  Bytes calculated = Bytes(0);  // matrices and activations of layers alone

  // allocated: StageMemory::allocated. reserved and process: their expected sizes. calculated: what
  // a source's own formula is of.
  Bytes Predicted(MemoryDefinition definition) const;
  // Signed: what is predicted over what was measured, less 1.
  double ErrorOf(const MeasuredMemory& measurement) const;
};

// Errors: kInvalidArgument where the engine refuses the run.
absl::StatusOr<Answer> AnswerOf(MeasuredCase run);

// A row that isn't asked about.
struct RowLeftOut {
  std::string source;
  std::string reason;
};

struct Answers {
  std::vector<Answer> answered;
  std::vector<RowLeftOut> left_out;
};

// All rows of megatron_ci_memory.csv and of measured_runs.csv that say something about memory, or
// of files with their columns. A run that the engine refuses is left out with its words.
Answers AnswersOf(const std::vector<CsvRow>& megatron_ci, const std::vector<CsvRow>& measured_runs);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_ANSWER_H_
